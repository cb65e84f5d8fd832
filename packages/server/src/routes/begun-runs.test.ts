import type { BaseAgent } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ParallelAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { createServer, type EventloomServer } from '../create-server.ts';

const SESSION = '/apps/app/users/ann/sessions/s';
const MESSAGE = { newMessage: { parts: [{ text: 'hi' }] } };
const sessionKey = { appName: 'app', userId: 'ann', sessionId: 's' };

interface Place {
  readonly server: EventloomServer;
  readonly sessionService: InMemorySessionService;
  readonly send: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>;
  /** Asks the address of a run for its state. */
  readonly stateOf: (location: string | null) => Promise<object>;
}

/** A server of an agent with a tool whose result comes later, and the session `s`. */
async function setUp(
  steps: readonly ScriptedStep[],
  sessionService = new InMemorySessionService(),
  rootAgent?: BaseAgent,
): Promise<Place> {
  const order = new LongRunningFunctionTool({ name: 'order', description: 'Orders.', execute: () => undefined });
  const set = new FunctionTool({ name: 'set', description: 'Sets.', execute: (_args, { state }) => state.set('a', 1) });
  const agent = rootAgent ?? new LlmAgent({ name: 'agent', model: new ScriptedModel(steps), tools: [order, set] });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const server = createServer({ runners: [runner], onError: () => undefined, limits: { answerAfterMs: 0 } });
  const send: Place['send'] = async (method, path, body, headers = {}) => {
    const text = body === undefined ? null : JSON.stringify(body);
    return server.fetch(new Request(`http://localhost${path}`, { method, body: text, headers }));
  };
  const stateOf = async (location: string | null): Promise<object> => {
    return (await send('GET', `${location}`, undefined, { accept: 'application/json' })).json();
  };
  if (!(await sessionService.getSession(sessionKey))) await sessionService.createSession(sessionKey);
  return { server, sessionService, send, stateOf };
}

test("POST /runs answers with the run's address once its message is stored, and the address has its outcome", async () => {
  const gate = new Gate();
  const { sessionService, send, stateOf } = await setUp([{ gate, text: 'done' }]);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const { invocationId } = (await begun.json()) as { invocationId: string };
  const location = begun.headers.get('location');
  expect([begun.status, location]).toEqual([202, `${SESSION}/runs/${invocationId}`]);
  expect(begun.headers.get('eventloom-invocation-id')).toBe(invocationId);
  const stored = await sessionService.getSession(sessionKey);
  expect(stored?.events.map(({ author }) => author)).toEqual(['user']);
  expect(await stateOf(location)).toEqual({ invocationId, state: 'running' });
  gate.open();
  expect(await (await send('GET', `${location}`)).text()).toContain('done');
  expect(await stateOf(location)).toEqual({ invocationId, state: 'completed' });
});

test('another server knows the state of a run', async () => {
  const first = await setUp(['done']);
  const begun = await first.send('POST', `${SESSION}/runs`, MESSAGE);
  const location = begun.headers.get('location');
  await (await first.send('GET', `${location}`)).text();
  const second = await setUp([], first.sessionService);
  expect(await second.stateOf(location)).toMatchObject({ state: 'completed' });
});

test('a run is queued until it has its session', async () => {
  const { sessionService, send, stateOf } = await setUp(['done']);
  const lease = await sessionService.acquireLease(sessionKey);
  const response = await send('POST', '/run_sse', { ...sessionKey, ...MESSAGE });
  const invocationId = response.headers.get('eventloom-invocation-id');
  const location = `${SESSION}/runs/${invocationId}`;
  expect(await stateOf(location)).toEqual({ invocationId, state: 'queued' });
  expect((await sessionService.getSession(sessionKey))?.events).toEqual([]);
  await sessionService.releaseLease(lease);
  expect(await response.text()).toContain('done');
  expect(await stateOf(location)).toEqual({ invocationId, state: 'completed' });
});

test('a failed run has its code, and a cancelled one the state interrupted', async () => {
  const gate = new Gate();
  const { send, stateOf } = await setUp([{ error: new TypeError('no') }, { gate, text: 'never' }]);
  const failed = await send('POST', `${SESSION}/runs`, MESSAGE);
  await (await send('GET', `${failed.headers.get('location')}`)).text();
  expect(await stateOf(failed.headers.get('location'))).toMatchObject({ state: 'failed', code: expect.any(String) });
  const cancelled = await send('POST', `${SESSION}/runs`, MESSAGE);
  const location = cancelled.headers.get('location');
  await gate.reached;
  expect((await send('DELETE', `${location}`)).status).toBe(200);
  expect(await stateOf(location)).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
});

test('a run has the state waiting until its calls have responses', async () => {
  const { send, stateOf } = await setUp([{ calls: [{ name: 'order', id: 'c-1' }] }, 'thanks']);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const location = begun.headers.get('location');
  await (await send('GET', `${location}`)).text();
  const waiting = (await stateOf(location)) as { state: string; waitingFor: string[] };
  expect(waiting).toMatchObject({ state: 'waiting', waitingFor: [expect.any(String)] });
  const functionResponse = { id: waiting.waitingFor[0], name: 'order', response: { ordered: true } };
  const answered = await send('POST', `${SESSION}/runs`, { newMessage: { parts: [{ functionResponse }] } });
  expect(answered.status).toBe(202);
  await (await send('GET', `${answered.headers.get('location')}`)).text();
  expect(await stateOf(location)).toMatchObject({ state: 'completed' });
});

test('a run waits for a call of one branch although a call of another branch with the same id has its response', async () => {
  const gate = new Gate();
  const order = new LongRunningFunctionTool({ name: 'order', description: 'Orders.', execute: () => gate.open() });
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => 'seen' });
  const waits = new ScriptedModel([{ calls: [{ name: 'order', id: 'call_1' }] }]);
  const ends = new ScriptedModel([{ gate, calls: [{ name: 'look', id: 'call_1' }] }, 'done']);
  const agent = new ParallelAgent({
    name: 'both',
    subAgents: [
      new LlmAgent({ name: 'waits', model: waits, tools: [order] }),
      new LlmAgent({ name: 'ends', model: ends, tools: [look] }),
    ],
  });
  const { send, stateOf } = await setUp([], undefined, agent);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const location = begun.headers.get('location');
  await (await send('GET', `${location}`)).text();
  expect(await stateOf(location)).toMatchObject({ state: 'waiting', waitingFor: ['call_1'] });
});

test.each([
  [undefined, 400],
  [[], 400],
  ['text', 400],
  [{}, 400],
  [{ ...MESSAGE, appName: 'app' }, 400],
  [{ ...MESSAGE, user_id: 'bob' }, 400],
  [{ ...MESSAGE, sessionId: 't' }, 400],
  [{ newMessage: { parts: 'hi' } }, 400],
  [{ ...MESSAGE, maxLlmCalls: 2 }, 400],
  [{ invocationId: 'e-none' }, 404],
])('the body %j is refused with a code, and changes nothing', async (body, status) => {
  const { sessionService, send } = await setUp(['done']);
  const before = await sessionService.getSession(sessionKey);
  const response = await send('POST', `${SESSION}/runs`, body);
  expect([response.status, await response.json()]).toEqual([
    status,
    { error: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/) },
  ]);
  expect(response.headers.get('location')).toBeNull();
  expect(await sessionService.getSession(sessionKey)).toEqual(before);
});

test('a request id stands for one run and can be used in its address', async () => {
  const { sessionService, send, stateOf } = await setUp(['done', 'never']);
  const first = await send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: 'r-1' });
  const location = first.headers.get('location');
  await (await send('GET', `${location}`)).text();
  const again = await send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: 'r-1' });
  expect([again.status, again.headers.get('location')]).toEqual([202, location]);
  expect(await again.json()).toEqual(await stateOf(location));
  expect(await stateOf(`${SESSION}/runs/r-1`)).toEqual(await stateOf(location));
  expect((await sessionService.getSession(sessionKey))?.events).toHaveLength(2);
});

test('an unknown run is a 404', async () => {
  const { send } = await setUp(['done']);
  expect((await send('POST', '/apps/app/users/ann/sessions/t/runs', MESSAGE)).status).toBe(404);
  expect((await send('POST', '/apps/none/users/ann/sessions/s/runs', MESSAGE)).status).toBe(404);
  const unknown = await send('GET', `${SESSION}/runs/e-none`, undefined, { accept: 'application/json' });
  expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 'RUN_NOT_FOUND' }]);
});

test.each(['text/event-stream', '*/*', 'application/json, text/event-stream'])(
  'GET of a run with Accept: %s streams its events',
  async (accept) => {
    const { send } = await setUp(['done']);
    const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
    const response = await send('GET', `${begun.headers.get('location')}`, undefined, { accept });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    await response.text();
  },
);
