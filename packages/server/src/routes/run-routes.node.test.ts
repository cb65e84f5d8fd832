import { ConfigurationError, ModelError, type Event } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { afterEach, describe, expect, test } from 'vitest';
import { serve } from '../node/serve.ts';
import { ASK, framesOf, servers, setUp } from './fixtures/run-server.ts';
import { serverScenario } from '../fixtures/server-scenario.ts';

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
});

describe('POST /run', () => {
  test('returns all events at the end of the run', async () => {
    const { post } = await setUp([{ calls: [{ name: 'set_mood' }] }, 'done']);
    const response = await post('/run', ASK);
    const events = (await response.json()) as Event[];
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(events.map(({ invocationId }) => invocationId)).toEqual(
      Array(3).fill(response.headers.get('Eventloom-Invocation-Id')),
    );
    expect(events.at(1)?.actions.stateDelta).toEqual({ mood: 'good' });
    expect(events.at(2)?.content?.parts).toEqual([{ text: 'done' }]);
  });

  test('accepts keys in snake_case', async () => {
    const { post } = await setUp(['done']);
    const body = {
      app_name: 'app',
      user_id: 'ann',
      session_id: 's',
      new_message: ASK.newMessage,
      state_delta: { a: 1 },
    };
    expect((await post('/run', body)).status).toBe(200);
  });

  test('adds requestId and customMetadata to the events, and a completion event on request', async () => {
    const { post } = await setUp(['done']);
    const body = { ...ASK, requestId: 'r-1', customMetadata: { tenant: 't' }, completionEvent: true };
    const events = (await (await post('/run', body)).json()) as Event[];
    expect(events).toMatchObject([
      { requestId: 'r-1', customMetadata: { tenant: 't' } },
      { object: 'runner.completion', author: 'app' },
    ]);
  });

  test("responds with the status of the run's error", async () => {
    const { url, post } = await setUp([new ConfigurationError('no such model')]);
    const response = await post('/run', ASK);
    expect([response.status, await response.json()]).toEqual([500, { error: 'no such model', code: 'CONFIGURATION' }]);
    const id = response.headers.get('Eventloom-Invocation-Id');
    const events = await (await fetch(`${url}/apps/app/users/ann/sessions/s/runs/${id}`)).text();
    expect(framesOf(events).map(({ data }) => data.errorMessage ?? data.error)).toEqual([
      'no such model',
      'no such model',
    ]);
  });

  test('hides the message of an unexpected error', async () => {
    const { post } = await setUp([]);
    const response = await post('/run', ASK);
    const body = await response.text();
    expect(response.status).toBe(500);
    expect(body).not.toMatch(/\bat \S+:\d+/);
  });

  test('lets the run continue when the client disconnects', async () => {
    const gate = new Gate();
    const { url, sessionService } = await setUp([{ text: 'done', gate }]);
    const leaving = new AbortController();
    const answer = fetch(`${url}/run`, { method: 'POST', body: JSON.stringify(ASK), signal: leaving.signal });
    await gate.reached;
    leaving.abort();
    await expect(answer).rejects.toThrow();
    gate.open();
    const key = { appName: 'app', userId: 'ann', sessionId: 's' };
    await sessionService.releaseLease(await sessionService.acquireLease(key));
    const session = await sessionService.getSession(key);
    expect(session?.events.at(-1)?.content?.parts).toEqual([{ text: 'done' }]);
  });
});

describe('a resumed run', () => {
  const call = { id: 'c1', name: 'wait' };
  const answer = { parts: [{ functionResponse: { id: 'c1', name: 'wait', response: { ready: true } } }] };

  async function paused() {
    const sessionService = new InMemorySessionService();
    const open = async (steps: readonly ScriptedStep[]) => {
      const wait = new LongRunningFunctionTool({ name: 'wait', description: 'Waits.', execute: () => undefined });
      const scenario = { steps, agent: { tools: [wait] }, runner: { resumable: true }, sessionService };
      const listening = await serve((await serverScenario(scenario)).server, { port: 0 });
      servers.push(listening);
      const post = (path: string, body: object) =>
        fetch(`${listening.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
      return { post, listening };
    };
    const first = await open([{ calls: [call] }, 'It is ready here.']);
    const asked = await first.post('/run', { ...ASK, requestId: 'r-1' });
    const invocationId = asked.headers.get('Eventloom-Invocation-Id') ?? '';
    return { open, first, invocationId, sessionService };
  }

  test('continues on another server with the response to its call, under its own ids', async () => {
    const { open, invocationId } = await paused();
    const { post } = await open(['It is ready.']);
    const response = await post('/run', { ...ASK, newMessage: answer, invocationId });
    expect(response.headers.get('Eventloom-Invocation-Id')).toBe(invocationId);
    const events = (await response.json()) as Event[];
    expect(events[0]).toMatchObject({ invocationId, requestId: 'r-1', content: { parts: [{ text: 'It is ready.' }] } });
    const over = await post('/run_sse', { appName: 'app', userId: 'ann', sessionId: 's', invocation_id: invocationId });
    expect([over.status, await over.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
  });

  test('replaces its kept log', async () => {
    const { first, invocationId } = await paused();
    const path = `/apps/app/users/ann/sessions/s/runs/${invocationId}`;
    expect((await first.post('/run', { ...ASK, newMessage: answer, invocationId })).status).toBe(200);
    const kept = await fetch(`${first.listening.url}${path}`);
    const frames = framesOf(await kept.text());
    const parts = frames.map(({ data }) => data.content?.parts?.[0]);
    expect(parts).toMatchObject([{ functionCall: { name: 'wait' } }, answer.parts[0], { text: 'It is ready here.' }]);
    expect(frames.map(({ id }) => id)).toEqual([1, 2, 3]);
    // Clients of the ADK do not expect what the user sent.
    const known = await first.post('/run', { ...ASK, requestId: 'r-1' });
    expect(await known.json()).toEqual([frames[0]?.data, frames[2]?.data]);
  });
});

describe('a repeated request', () => {
  test.each(['/run', '/run_sse'])('to %s gets the events of its run, which does not run again', async (path) => {
    const gate = new Gate();
    const { post, sessionService } = await setUp([{ text: 'once', gate }]);
    const body = { ...ASK, requestId: 'r-1' };
    const first = post(path, body);
    await gate.reached;
    const second = post(path, body);
    gate.open();
    const [one, other] = await Promise.all([first, second]);
    const third = await post(path, body);
    const texts = await Promise.all([one, other, third].map((response) => response.text()));
    expect(texts[0]).toContain('once');
    expect(texts).toEqual([texts[0], texts[0], texts[0]]);
    const ids = [one, other, third].map((response) => response.headers.get('Eventloom-Invocation-Id'));
    expect(ids).toEqual([ids[0], ids[0], ids[0]]);
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(session?.events).toHaveLength(2);
  });

  test.each([
    ['a code of ours', new ConfigurationError('no such model'), {}, 500],
    ['a code of the service', new ModelError('busy', { errorCode: 'RESOURCE_EXHAUSTED' }), {}, 502],
    ['a code of the service that is one of ours too', new ModelError('who', { errorCode: 'UNAUTHENTICATED' }), {}, 502],
    ['a code, and whose log is dropped,', new ModelError('who', { errorCode: 'NOT_FOUND' }), { maxKeptRuns: 0 }, 502],
  ])('to /run gets the error and the status of its run, which failed with %s', async (_, error, limits, status) => {
    const { post } = await setUp([error], limits);
    const answers = [];
    for (let time = 0; time < 2; time++) {
      const response = await post('/run', { ...ASK, requestId: 'r-1' });
      answers.push([response.status, await response.json()]);
    }
    expect(answers[0]?.[0]).toBe(status);
    expect(answers[1]).toEqual(answers[0]);
  });
});
