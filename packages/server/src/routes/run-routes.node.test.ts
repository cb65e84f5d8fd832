import { request } from 'node:http';
import { ConfigurationError, type Event } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { afterEach, describe, expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import { type NodeServer, serve } from '../node/serve.ts';
import type { ServerLimits } from '../server-limits.ts';

const servers: NodeServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.shutDown()));
});

interface Setup {
  readonly url: string;
  readonly sessionService: InMemorySessionService;
  readonly post: (path: string, body: object) => Promise<Response>;
}

async function setUp(steps: readonly ScriptedStep[], limits: Partial<ServerLimits> = {}): Promise<Setup> {
  const sessionService = new InMemorySessionService();
  const setMood = new FunctionTool({
    name: 'set_mood',
    description: 'Sets the mood.',
    execute: (_args, context) => context.state.set('mood', 'good'),
  });
  const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(steps), tools: [setMood] });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const server = createServer({ runners: [runner], limits, onError: () => undefined });
  const listening = await serve(server, { port: 0, drainMs: 0 });
  servers.push(listening);
  await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
  const { url } = listening;
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { url, sessionService, post };
}

const ASK = { appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
const STREAM = { ...ASK, streaming: true };
const CHUNKS: ScriptedStep = { chunks: ['one ', 'two ', 'three'] };

interface Frame {
  readonly id: number;
  readonly data: Partial<Event> & { readonly error?: unknown; readonly code?: string };
}

function framesOf(text: string): Frame[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.includes('data: '))
    .map((frame) => ({
      id: Number(/^id: (\d+)$/m.exec(frame)?.[1]),
      data: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? 'null') as Frame['data'],
    }));
}

const textOf = ({ data }: Frame): string =>
  data.content?.parts?.map(({ text = '' }) => text).join('') ?? `${data.code}`;

describe('POST /run', () => {
  test('answers all events when the run is done', async () => {
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

  test('takes keys in snake case', async () => {
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

  test('puts what the caller names on the events, and ends with a completion event when asked to', async () => {
    const { post } = await setUp(['done']);
    const body = { ...ASK, requestId: 'r-1', customMetadata: { tenant: 't' }, completionEvent: true };
    const events = (await (await post('/run', body)).json()) as Event[];
    expect(events).toMatchObject([
      { requestId: 'r-1', customMetadata: { tenant: 't' } },
      { object: 'runner.completion', author: 'app' },
    ]);
  });

  test('of a run that fails answers the status of its error', async () => {
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

  test('tells nothing of what a failure that is not its own says inside', async () => {
    const { post } = await setUp([]);
    const response = await post('/run', ASK);
    const body = await response.text();
    expect(response.status).toBe(500);
    expect(body).not.toMatch(/\bat \S+:\d+/);
  });

  test('goes on when the client leaves', async () => {
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

describe('POST /run_sse', () => {
  test('streams chunks and the event that merges them, numbered from 1', async () => {
    const { post } = await setUp([CHUNKS]);
    const response = await post('/run_sse', STREAM);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const frames = framesOf(await response.text());
    expect(frames.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
    expect(frames.map(textOf)).toEqual(['one ', 'two ', 'three', 'one two three']);
    expect(frames.map(({ data }) => data.partial)).toEqual([true, true, true, undefined]);
  });

  test('gives only whole events without streaming', async () => {
    const { post } = await setUp([CHUNKS]);
    expect(framesOf(await (await post('/run_sse', ASK)).text()).map(textOf)).toEqual(['one two three']);
  });

  test('names the run before its first event, and a chunk is there before the next is made', async () => {
    const [first, second] = [new Gate(), new Gate()];
    const { post } = await setUp([{ chunks: [first, 'one', second, 'two'] }], { answerAfterMs: 0 });
    const response = await post('/run_sse', STREAM);
    expect(response.headers.get('Eventloom-Invocation-Id')).toMatch(/^e-/);
    const reader = (response.body ?? new ReadableStream()).getReader();
    first.open();
    expect(new TextDecoder().decode((await reader.read()).value as Uint8Array)).toContain('"one"');
    second.open();
    await reader.cancel();
  });

  test('ends with the error of a run that fails midway', async () => {
    const { post } = await setUp([{ chunks: ['one'], error: new ConfigurationError('broke') }]);
    const response = await post('/run_sse', STREAM);
    const frames = framesOf(await response.text());
    expect(response.status).toBe(200);
    expect(frames.at(-1)?.data).toEqual({ error: 'broke', code: 'CONFIGURATION' });
    expect(frames.at(-2)?.data).toMatchObject({ errorCode: 'MODEL_ERROR', errorMessage: 'broke' });
  });

  test.each([
    ['an unknown app', { appName: 'nope' }, 404, 'APP_NOT_FOUND'],
    ['an unknown session', { sessionId: 'nope' }, 404, 'SESSION_NOT_FOUND'],
    ['an empty message', { newMessage: { parts: [] } }, 400, 'INVALID_MESSAGE'],
    ['a message without text', { newMessage: { parts: [{ text: '' }] } }, 400, 'INVALID_MESSAGE'],
    ['a function call', { newMessage: { parts: [{ functionCall: { name: 'f' } }] } }, 400, 'INVALID_MESSAGE'],
    [
      'an answer to no call',
      { newMessage: { parts: [{ functionResponse: { id: 'x', response: {} } }] } },
      400,
      'INVALID_MESSAGE',
    ],
    ['the role of a model', { newMessage: { role: 'model', parts: [{ text: 'x' }] } }, 400, 'INVALID_MESSAGE'],
    ['no message', { newMessage: undefined }, 400, 'INVALID_REQUEST'],
    ['a part that is none', { newMessage: { parts: [5] } }, 400, 'INVALID_REQUEST'],
    ['bytes that are no base64', { newMessage: { parts: [{ inlineData: { data: '!' } }] } }, 400, 'INVALID_REQUEST'],
    ['an empty user', { userId: '' }, 400, 'INVALID_REQUEST'],
    ['a session that is a number', { sessionId: 5 }, 400, 'INVALID_REQUEST'],
    ['an impossible onBusy', { onBusy: 'wait' }, 400, 'INVALID_REQUEST'],
    ['streaming that is a text', { streaming: 'yes' }, 400, 'INVALID_REQUEST'],
    ['a state key that cannot be', { stateDelta: { '': 1 } }, 400, 'STATE_KEY'],
    ['a session id with NUL', { sessionId: 'a\0b' }, 400, 'INVALID_REQUEST'],
    ['a user with a lone surrogate', { userId: '\ud800' }, 400, 'INVALID_REQUEST'],
    [
      'the id of a run that the session does not have',
      { invocationId: 'e-1', newMessage: null },
      400,
      'INVALID_REQUEST',
    ],
  ])('with %s is refused and writes nothing', async (_what, change, status, code) => {
    const { post, sessionService } = await setUp([]);
    for (const path of ['/run', '/run_sse']) {
      const response = await post(path, { ...ASK, ...change });
      expect([response.status, await response.json()]).toEqual([status, { error: expect.stringMatching(/./), code }]);
    }
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(session?.events).toEqual([]);
  });

  test('of a session that is busy is refused at once when asked to', async () => {
    const gate = new Gate();
    const { post } = await setUp([{ text: 'done', gate }], { answerAfterMs: 0 });
    const first = await post('/run_sse', ASK);
    await gate.reached;
    const second = await post('/run', { ...ASK, onBusy: 'reject' });
    expect([second.status, second.headers.get('retry-after')]).toEqual([409, '1']);
    expect(await second.json()).toMatchObject({ code: 'SESSION_BUSY' });
    gate.open();
    await first.text();
  });

  test('is refused when there are as many runs as the server takes', async () => {
    const gate = new Gate();
    const { post } = await setUp([{ text: 'done', gate }], { answerAfterMs: 0, maxRuns: 1 });
    const first = await post('/run_sse', ASK);
    const second = await post('/run_sse', ASK);
    expect([second.status, second.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await second.json()).toMatchObject({ code: 'SERVER_BUSY' });
    gate.open();
    await first.text();
  });
});

describe('a run that is resumed', () => {
  const call = { id: 'c1', name: 'wait' };
  const answer = { parts: [{ functionResponse: { id: 'c1', name: 'wait', response: { ready: true } } }] };

  async function paused() {
    const sessionService = new InMemorySessionService();
    const open = async (steps: readonly ScriptedStep[]) => {
      const wait = new LongRunningFunctionTool({ name: 'wait', description: 'Waits.', execute: () => undefined });
      const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(steps), tools: [wait] });
      const runner = new Runner({ appName: 'app', agent, sessionService, resumable: true });
      const listening = await serve(createServer({ runners: [runner], onError: () => undefined }), { port: 0 });
      servers.push(listening);
      const post = (path: string, body: object) =>
        fetch(`${listening.url}${path}`, { method: 'POST', body: JSON.stringify(body) });
      return { post, listening };
    };
    await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const first = await open([{ calls: [call] }, 'It is ready here.']);
    const asked = await first.post('/run', { ...ASK, requestId: 'r-1' });
    const invocationId = asked.headers.get('Eventloom-Invocation-Id') ?? '';
    return { open, first, invocationId, sessionService };
  }

  test('goes on in another server with the answer to its call, under its own ids', async () => {
    const { open, invocationId } = await paused();
    const { post } = await open(['It is ready.']);
    const response = await post('/run', { ...ASK, newMessage: answer, invocationId });
    expect(response.headers.get('Eventloom-Invocation-Id')).toBe(invocationId);
    const events = (await response.json()) as Event[];
    expect(events[0]).toMatchObject({ invocationId, requestId: 'r-1', content: { parts: [{ text: 'It is ready.' }] } });
    const over = await post('/run_sse', { appName: 'app', userId: 'ann', sessionId: 's', invocation_id: invocationId });
    expect([over.status, await over.json()]).toMatchObject([400, { code: 'INVALID_REQUEST' }]);
  });

  test('takes the place of what the server keeps of it', async () => {
    const { first, invocationId } = await paused();
    const path = `/apps/app/users/ann/sessions/s/runs/${invocationId}`;
    expect((await first.post('/run', { ...ASK, newMessage: answer, invocationId })).status).toBe(200);
    const kept = await fetch(`${first.listening.url}${path}`);
    const frames = framesOf(await kept.text());
    expect(frames.map(({ data }) => data.content?.parts?.[0]?.text)).toEqual(['It is ready here.', undefined]);
    expect(frames.at(-1)?.data.actions).toMatchObject({ endOfAgent: true });
  });
});

describe('a run that was left', () => {
  const runPath = (id: string | null): string => `/apps/app/users/ann/sessions/s/runs/${id}`;

  test('misses and repeats nothing when it is followed again, chunks included', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ chunks: ['one ', 'two ', gate, 'three ', 'four'] }]);
    const response = await post('/run_sse', STREAM);
    const id = response.headers.get('Eventloom-Invocation-Id');
    const seen = framesOf(await readUntil(response, '"two "'));
    const again = await fetch(`${url}${runPath(id)}`, { headers: { 'last-event-id': String(seen.at(-1)?.id) } });
    gate.open();
    const rest = framesOf(await again.text());
    const all = framesOf(await (await fetch(`${url}${runPath(id)}`)).text());
    expect([...seen, ...rest]).toEqual(all);
    expect(all.map(textOf)).toEqual(['one ', 'two ', 'three ', 'four', 'one two three four']);
  });

  test('is followed by the query too, and the header wins', async () => {
    const { url, post } = await setUp([CHUNKS]);
    const response = await post('/run_sse', STREAM);
    await response.text();
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    const ids = async (suffix: string, headers = {}): Promise<number[]> =>
      framesOf(await (await fetch(`${path}${suffix}`, { headers })).text()).map(({ id }) => id);
    expect(await ids('?lastEventId=3')).toEqual([4]);
    expect(await ids('?lastEventId=3', { 'last-event-id': '1' })).toEqual([2, 3, 4]);
  });

  test('answers 204 when it ended and there is no more, which ends an EventSource', async () => {
    const { url, post } = await setUp(['done']);
    const response = await post('/run_sse', ASK);
    await response.text();
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    expect((await fetch(`${path}?lastEventId=1`)).status).toBe(204);
  });

  test.each(['x', '-1', '1.5', '99', '1,1', '9999999999999999999'])('refuses the last id %j', async (id) => {
    const { url, post } = await setUp(['done']);
    const response = await post('/run_sse', ASK);
    await response.text();
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    expect((await fetch(path, { headers: { 'last-event-id': id } })).status).toBe(400);
  });

  test('that is unknown, or of another session, is not found', async () => {
    const { url, post } = await setUp(['done']);
    const response = await post('/run_sse', ASK);
    await response.text();
    const id = response.headers.get('Eventloom-Invocation-Id');
    for (const path of [
      runPath('e-nope'),
      runPath(id).replace('sessions/s', 'sessions/t'),
      runPath(id).replace('ann', 'bob'),
    ]) {
      const answer = await fetch(`${url}${path}`);
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'RUN_NOT_FOUND' }]);
    }
  });

  test('says what to do when its first events are not kept any more', async () => {
    const { url, post } = await setUp([CHUNKS], { maxRunChars: 500 });
    const response = await post('/run_sse', STREAM);
    await response.text();
    const answer = await fetch(`${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`);
    expect([answer.status, await answer.json()]).toMatchObject([410, { code: 'RUN_EVENTS_GONE' }]);
  });

  test('is cancelled by DELETE, and what it committed stays', async () => {
    const gate = new Gate();
    const { url, post, sessionService } = await setUp([{ calls: [{ name: 'set_mood' }] }, { text: 'late', gate }]);
    const response = await post('/run_sse', ASK);
    await gate.reached;
    const path = `${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`;
    const cancelled = await fetch(path, { method: 'DELETE' });
    expect([cancelled.status, await cancelled.json()]).toEqual([200, null]);
    expect(framesOf(await response.text()).at(-1)?.data).toEqual({
      error: 'the run was cancelled',
      code: 'RUN_ABORTED',
    });
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(session?.state).toEqual({ mood: 'good' });
    expect((await fetch(path, { method: 'DELETE' })).status).toBe(200);
  });

  test('ends with its session when that is deleted', async () => {
    const gate = new Gate();
    const { url, post } = await setUp([{ text: 'late', gate }], { answerAfterMs: 0 });
    const response = await post('/run_sse', ASK);
    await gate.reached;
    await fetch(`${url}/apps/app/users/ann/sessions/s`, { method: 'DELETE' });
    expect(await response.text()).toContain('the session was deleted');
    expect((await fetch(`${url}${runPath(response.headers.get('Eventloom-Invocation-Id'))}`)).status).toBe(404);
  });
});

/** What came until the text did; then the connection is dropped. */
function readUntil(response: Response, text: string): Promise<string> {
  const reader = (response.body ?? new ReadableStream()).getReader();
  const decoder = new TextDecoder();
  const read = async (sofar: string): Promise<string> => {
    if (sofar.includes(text)) {
      await reader.cancel();
      return sofar;
    }
    const { value, done } = await reader.read();
    return done ? sofar : read(sofar + decoder.decode(value as Uint8Array, { stream: true }));
  };
  return read('');
}

test('a connection that is cut off does not end the run', async () => {
  const gate = new Gate();
  const { url, sessionService } = await setUp([{ chunks: ['one', gate, 'two'] }]);
  const client = request(`${url}/run_sse`, { method: 'POST' }, (answer) => answer.once('data', () => client.destroy()));
  const closed = new Promise<void>((resolve) => client.once('close', resolve));
  client.on('error', () => undefined).end(JSON.stringify(STREAM));
  await closed;
  gate.open();
  const key = { appName: 'app', userId: 'ann', sessionId: 's' };
  await sessionService.releaseLease(await sessionService.acquireLease(key));
  const session = await sessionService.getSession(key);
  expect(session?.events.at(-1)?.content?.parts).toEqual([{ text: 'onetwo' }]);
});
