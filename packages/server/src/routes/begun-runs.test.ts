import { type BaseAgent, createEvent } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ParallelAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { KEY, SESSION, serverScenario, type ServerScenario } from '../fixtures/server-scenario.ts';
import { InMemoryRunRelay, RunNetwork } from '../conformance/in-memory-run-relay.ts';
import type { RunLog } from '../runs/run-log.ts';
import type { RunPublication, RunRelay } from '../runs/run-relay.ts';
import type { RunState } from '../runs/run-state.ts';

const MESSAGE = { newMessage: { parts: [{ text: 'hi' }] } };
const JSON_STATE = { accept: 'application/json' };

interface Place extends ServerScenario {
  /** Requests the state of a run at its address. */
  readonly stateOf: (location: string | null) => Promise<RunState>;
}

/** A server of an agent with a tool whose result comes later, and the session `s`. */
async function setUp(
  steps: readonly ScriptedStep[],
  sessionService = new InMemorySessionService(),
  rootAgent?: BaseAgent,
  resumable = false,
  relay?: RunRelay,
  respondAfterMs = 0,
): Promise<Place> {
  const order = new LongRunningFunctionTool({ name: 'order', description: 'Orders.', execute: () => undefined });
  const set = new FunctionTool({ name: 'set', description: 'Sets.', execute: (_args, { state }) => state.set('a', 1) });
  const played = await serverScenario({
    steps,
    sessionService,
    agent: rootAgent ?? { tools: [order, set] },
    runner: { resumable },
    relay,
    limits: { respondAfterMs },
  });
  const stateOf: Place['stateOf'] = async (location) => {
    return (await played.send('GET', `${location}`, undefined, JSON_STATE)).json();
  };
  return { ...played, stateOf };
}

test("POST /runs answers with the run's address once its message is stored, and the address has its outcome", async () => {
  const gate = new Gate();
  const { sessionService, send, stateOf } = await setUp([{ gate, text: 'done' }]);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const { invocationId } = (await begun.json()) as { invocationId: string };
  const location = begun.headers.get('location');
  expect([begun.status, location]).toEqual([202, `${SESSION}/runs/${invocationId}`]);
  expect(begun.headers.get('eventloom-invocation-id')).toBe(invocationId);
  const stored = await sessionService.getSession(KEY);
  expect(stored?.events.map(({ author }) => author)).toEqual(['user']);
  expect(await stateOf(location)).toEqual({ invocationId, state: 'running' });
  gate.open();
  expect(await (await send('GET', `${location}`)).text()).toContain('done');
  expect(await stateOf(location)).toMatchObject({ invocationId, state: 'completed', output: 'done' });
});

test('another server can answer the state of a run', async () => {
  const first = await setUp(['done']);
  const begun = await first.send('POST', `${SESSION}/runs`, MESSAGE);
  const location = begun.headers.get('location');
  await (await first.send('GET', `${location}`)).text();
  const second = await setUp([], first.sessionService);
  expect(await second.stateOf(location)).toMatchObject({ state: 'completed' });
});

test('a run is queued until it has its session', async () => {
  const { sessionService, send, stateOf } = await setUp(['done']);
  const lease = await sessionService.acquireLease(KEY);
  const response = await send('POST', '/run_sse', { ...KEY, ...MESSAGE });
  const invocationId = response.headers.get('eventloom-invocation-id');
  const location = `${SESSION}/runs/${invocationId}`;
  expect(await stateOf(location)).toEqual({ invocationId, state: 'queued' });
  expect((await sessionService.getSession(KEY))?.events).toEqual([]);
  await sessionService.releaseLease(lease);
  expect(await response.text()).toContain('done');
  expect(await stateOf(location)).toMatchObject({ invocationId, state: 'completed' });
});

describe('a request that waits for its session', () => {
  const REQUEST = { ...MESSAGE, requestId: 'r-1' };
  const ADDRESS = `${SESSION}/runs/r-1`;

  test('is queued, followed and answered by its request id', async () => {
    const { sessionService, send, stateOf } = await setUp(['done']);
    const lease = await sessionService.acquireLease(KEY);
    const begun = send('POST', `${SESSION}/runs`, REQUEST);
    await expect.poll(async () => (await send('GET', ADDRESS, undefined, JSON_STATE)).ok).toBe(true);
    const state = await stateOf(ADDRESS);
    expect(state).toEqual({ invocationId: expect.stringMatching(/^e-/), state: 'queued' });
    const followed = await send('GET', ADDRESS);
    expect(followed.status).toBe(200);
    await sessionService.releaseLease(lease);
    expect(await (await begun).json()).toMatchObject({ invocationId: Object(state).invocationId });
    expect(await followed.text()).toContain('done');
    expect(await stateOf(ADDRESS)).toMatchObject({ ...state, state: 'completed' });
  });

  test('is cancelled by its request id, and nothing is stored', async () => {
    const { sessionService, send, stateOf } = await setUp(['never']);
    const lease = await sessionService.acquireLease(KEY);
    const begun = send('POST', `${SESSION}/runs`, REQUEST);
    await expect.poll(async () => (await send('GET', ADDRESS, undefined, JSON_STATE)).ok).toBe(true);
    expect((await send('DELETE', ADDRESS)).status).toBe(200);
    expect(await (await begun).json()).toMatchObject({ code: 'RUN_ABORTED' });
    await sessionService.releaseLease(lease);
    expect((await sessionService.getSession(KEY))?.events).toEqual([]);
    const cancelled = {
      state: 'interrupted',
      code: 'RUN_ABORTED',
      error: 'the request was cancelled before its run began',
    };
    expect(await stateOf(ADDRESS)).toMatchObject(cancelled);
    expect(await (await send('GET', ADDRESS)).text()).toContain('"code":"RUN_ABORTED"');
    expect((await send('DELETE', ADDRESS)).status).toBe(200);
  });

  test('does not run when it is sent again after it was cancelled, until its session is deleted', async () => {
    const { sessionService, send } = await setUp(['once']);
    const lease = await sessionService.acquireLease(KEY);
    const begun = send('POST', `${SESSION}/runs`, REQUEST);
    await expect.poll(async () => (await send('GET', ADDRESS, undefined, JSON_STATE)).ok).toBe(true);
    await send('DELETE', ADDRESS);
    await begun;
    await sessionService.releaseLease(lease);
    for (const [path, body] of [
      [`${SESSION}/runs`, REQUEST],
      ['/run', { ...KEY, ...REQUEST }],
      ['/run_sse', { ...KEY, ...REQUEST }],
    ] as const) {
      const again = await send('POST', path, body);
      const error = expect.stringContaining('use a new id for a new message');
      expect([again.status, await again.json()]).toEqual([409, { code: 'RUN_ABORTED', error }]);
    }
    expect((await sessionService.getSession(KEY))?.events).toEqual([]);
    expect((await send('POST', `${SESSION}/runs`, { ...REQUEST, requestId: 'r-2' })).status).toBe(202);
    await send('DELETE', SESSION);
    await send('POST', SESSION, {});
    expect((await send('POST', `${SESSION}/runs`, REQUEST)).status).toBe(202);
  });

  test('is answered when it is sent again once it has the session, although its run is still active', async () => {
    const gate = new Gate();
    const { sessionService, send } = await setUp([{ gate, text: 'done' }]);
    const lease = await sessionService.acquireLease(KEY);
    const both = [1, 2].map(() => send('POST', `${SESSION}/runs`, REQUEST));
    await expect.poll(async () => (await send('GET', ADDRESS, undefined, JSON_STATE)).ok).toBe(true);
    await sessionService.releaseLease(lease);
    const [first, second] = await Promise.all(both);
    expect([first?.status, second?.status]).toEqual([202, 202]);
    expect(second?.headers.get('location')).toBe(first?.headers.get('location'));
    gate.open();
  });

  test.each(['followed', 'cancelled'])('can be %s by its request id in another process', async (how) => {
    const network = new RunNetwork();
    const first = await setUp(['done'], undefined, undefined, false, new InMemoryRunRelay(network));
    const { sessionService } = first;
    const { send, stateOf } = await setUp([], sessionService, undefined, false, new InMemoryRunRelay(network));
    const lease = await sessionService.acquireLease(KEY);
    const begun = first.send('POST', `${SESSION}/runs`, REQUEST);
    await expect.poll(async () => (await send('GET', ADDRESS, undefined, JSON_STATE)).ok).toBe(true);
    const state = await stateOf(ADDRESS);
    expect(state).toMatchObject({ state: 'queued' });
    const asked = how === 'cancelled' ? await send('DELETE', ADDRESS) : await send('GET', ADDRESS);
    await sessionService.releaseLease(lease);
    if (how === 'followed') expect(await asked.text()).toContain('done');
    const answer = await (await begun).json();
    expect(answer).toMatchObject(how === 'cancelled' ? { code: 'RUN_ABORTED' } : { ...state, state: 'running' });
  });

  test('does not replace a run with that invocation id at its address', async () => {
    const { sessionService, send, stateOf } = await setUp(['one']);
    const first = await send('POST', `${SESSION}/runs`, MESSAGE);
    const { invocationId } = (await first.json()) as { invocationId: string };
    await (await send('GET', `${SESSION}/runs/${invocationId}`)).text();
    const lease = await sessionService.acquireLease(KEY);
    const second = send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: invocationId });
    expect(await stateOf(`${SESSION}/runs/${invocationId}`)).toMatchObject({ invocationId, state: 'completed' });
    await sessionService.releaseLease(lease);
    expect(await (await second).json()).toMatchObject({ code: 'REQUEST_ID_REUSED' });
  });
});

describe('an answer that waits for its session', () => {
  /** A run that waits for an answer, and an answer that waits for the session. */
  async function answering({ isNamed = false } = {}) {
    const played = await setUp([{ calls: [{ name: 'order', id: 'c-1' }] }, 'thanks'], undefined, undefined, true);
    const { sessionService, send, stateOf } = played;
    const asked = await send('POST', `${SESSION}/runs`, MESSAGE);
    const location = `${asked.headers.get('location')}`;
    const { invocationId } = (await asked.json()) as { invocationId: string };
    await (await send('GET', location)).text();
    const lease = await sessionService.acquireLease(KEY);
    const parts = [{ functionResponse: { id: 'c-1', name: 'order', response: { ordered: true } } }];
    const named = isNamed ? { invocationId } : {};
    const answer = send('POST', `${SESSION}/runs`, { newMessage: { parts }, requestId: 'r-2', ...named });
    await expect.poll(async () => (await send('GET', `${SESSION}/runs/r-2`, undefined, JSON_STATE)).ok).toBe(true);
    return {
      ...played,
      location,
      invocationId,
      answer,
      state: () => stateOf(location),
      release: () => sessionService.releaseLease(lease),
    };
  }

  test('leaves its run in the state waiting until the lease is released, and followers of the run get its end at once', async () => {
    const { send, location, invocationId, answer, state, release, stateOf } = await answering();
    expect(await state()).toEqual({ invocationId, state: 'waiting', waitingFor: ['c-1'] });
    const followed = await (await send('GET', location)).text();
    expect(followed).toContain('"order"');
    expect(followed).not.toContain('thanks');
    // The request of the answer has its own state, with the run that it continues.
    expect(await stateOf(`${SESSION}/runs/r-2`)).toEqual({ invocationId, state: 'queued' });
    const follower = send('GET', `${SESSION}/runs/r-2`, undefined);
    await release();
    expect(await (await answer).json()).toMatchObject({ invocationId });
    expect(await (await follower).text()).toMatch(/"order".*thanks/s);
    expect(await state()).toMatchObject({ invocationId, state: 'completed' });
  });

  test.each([false, true])('is cancelled by its request id, and its run keeps waiting, named: %j', async (isNamed) => {
    const { send, answer, state, stateOf, invocationId, release } = await answering({ isNamed });
    expect((await send('DELETE', `${SESSION}/runs/r-2`)).status).toBe(200);
    const refused = await answer;
    expect(await refused.json()).toMatchObject({ code: 'RUN_ABORTED' });
    await release();
    expect(await state()).toMatchObject({ state: 'waiting' });
    // No end of the run is reported under its id.
    const ofRequest = await stateOf(`${SESSION}/runs/r-2`);
    expect(ofRequest).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
    for (const id of [ofRequest.invocationId, refused.headers.get('eventloom-invocation-id')])
      expect([invocationId, null]).not.toContain(id);
  });

  test('is cancelled together with its run', async () => {
    const { send, location, answer, state, release } = await answering();
    const cancelled = send('DELETE', location);
    expect(await (await answer).json()).toMatchObject({ code: 'RUN_ABORTED' });
    await release();
    expect((await cancelled).status).toBe(200);
    expect(await state()).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
  });
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

test('a completed run stays completed while an attempt to continue it has stored no event', async () => {
  const { sessionService, send, stateOf } = await setUp(['one', 'two'], undefined, undefined, true);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const location = begun.headers.get('location');
  await (await send('GET', `${location}`)).text();
  const { invocationId } = await stateOf(location);
  await (await send('POST', '/run', { ...KEY, ...MESSAGE })).text();
  const attempt = await sessionService.beginRun({ ...KEY, invocationId, resumable: true, continues: true });
  expect(await stateOf(location)).toMatchObject({ invocationId, state: 'completed' });
  const { session, lease } = attempt;
  const event = createEvent({ invocationId, author: 'user', content: { parts: [{ text: 'answer' }] } });
  await sessionService.appendEvent({ session, lease, event });
  expect(await stateOf(location)).toEqual({ invocationId, state: 'running' });
});

test('a request without a stored message is queued while its attempt has the session, and is not found after that', async () => {
  const { sessionService, send, stateOf } = await setUp(['one'], undefined, undefined, true);
  const begun = await send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: 'first' });
  const location = begun.headers.get('location');
  await (await send('GET', `${location}`)).text();
  const { invocationId } = await stateOf(location);
  const run = { invocationId, requestId: 'second', resumable: true, continues: true };
  const { lease } = await sessionService.beginRun({ ...KEY, ...run });
  expect(await stateOf(`${SESSION}/runs/first`)).toMatchObject({ invocationId, state: 'completed' });
  expect(await stateOf(`${SESSION}/runs/second`)).toEqual({ invocationId, state: 'queued' });
  const followed = await send('GET', `${SESSION}/runs/second`);
  expect([followed.status, await followed.json()]).toMatchObject([503, { code: 'RUN_NOT_BEGUN' }]);
  // Its process was killed, and another answer ended the run.
  await sessionService.releaseLease(lease);
  expect(await stateOf(`${SESSION}/runs/first`)).toMatchObject({ invocationId, state: 'completed' });
  for (const headers of [undefined, JSON_STATE])
    expect((await send('GET', `${SESSION}/runs/second`, undefined, headers)).status).toBe(404);
});

test('a run has the state waiting until its calls have responses', async () => {
  const { send, stateOf } = await setUp([{ calls: [{ name: 'order', id: 'c-1' }] }, 'thanks']);
  const begun = await send('POST', `${SESSION}/runs`, MESSAGE);
  const location = begun.headers.get('location');
  await (await send('GET', `${location}`)).text();
  const waiting = await stateOf(location);
  expect(waiting).toMatchObject({ state: 'waiting', waitingFor: [expect.any(String)] });
  const functionResponse = { id: waiting.waitingFor?.[0], name: 'order', response: { ordered: true } };
  const answered = await send('POST', `${SESSION}/runs`, { newMessage: { parts: [{ functionResponse }] } });
  expect(answered.status).toBe(202);
  await (await send('GET', `${answered.headers.get('location')}`)).text();
  expect(await stateOf(location)).toMatchObject({ state: 'completed' });
});

describe.each([false, true])('a run that waits for a call, resumable: %j,', (resumable) => {
  const waitingRun = async () => {
    const place = await setUp(
      [{ calls: [{ name: 'order', id: 'c-1' }] }, 'ok', 'thanks'],
      undefined,
      undefined,
      resumable,
    );
    const { send, stateOf } = place;
    const begin = async (body: unknown) => {
      const response = await send('POST', `${SESSION}/runs`, body);
      const location = response.headers.get('location');
      await (await send('GET', `${location}`)).text();
      return location?.split('/').at(-1) ?? (await response.json());
    };
    /** Rewinds the session to before an invocation, and returns the id of the rewind. */
    const rewind = async (rewindBeforeInvocationId: string): Promise<string> => {
      const response = await send('POST', `${SESSION}/rewind`, { rewindBeforeInvocationId });
      expect(response.status).toBe(200);
      return ((await response.json()) as { invocationId: string }).invocationId;
    };
    const id = await begin(MESSAGE);
    const { waitingFor = [] } = await stateOf(`${SESSION}/runs/${id}`);
    const functionResponse = { id: waitingFor[0], name: 'order', response: { ordered: true } };
    return {
      id,
      begin,
      rewind,
      waiting: { invocationId: id, state: 'waiting', waitingFor },
      answer: async () => begin({ newMessage: { parts: [{ functionResponse }] } }),
      cancel: async () => (await send('DELETE', `${SESSION}/runs/${id}`)).status,
      state: async () => stateOf(`${SESSION}/runs/${id}`),
      /** Returns true if the stream of the run ends with a failure. */
      endsInFailure: async () =>
        /^data: \{"error":.*\n\n$/m.test(await (await send('GET', `${SESSION}/runs/${id}`)).text()),
    };
  };

  test('waits again after a rewind that undid only the answer, and no longer after one that undid the run', async () => {
    const { id, begin, rewind, waiting, answer, state } = await waitingRun();
    const other = await begin(MESSAGE);
    await answer();
    expect(await state()).toMatchObject({ state: 'completed' });
    await rewind(other);
    expect(await state()).toEqual(waiting);
    await rewind(id);
    expect(await state()).toMatchObject({ invocationId: id, state: 'completed' });
  });

  test('waits again after its cancellation was undone, until it is cancelled again', async () => {
    const { begin, rewind, waiting, answer, cancel, state, endsInFailure } = await waitingRun();
    const other = await begin(MESSAGE);
    expect(await cancel()).toBe(200);
    expect([await state(), await endsInFailure()]).toMatchObject([{ state: 'interrupted', code: 'RUN_ABORTED' }, true]);
    await rewind(other);
    expect([await state(), await endsInFailure()]).toEqual([waiting, false]);
    expect(await cancel()).toBe(200);
    expect(await state()).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
    expect(await answer()).toMatchObject({ code: 'INVALID_MESSAGE' });
  });

  test('is completed by an answer after its cancellation was undone', async () => {
    const { id, begin, rewind, answer, cancel, state } = await waitingRun();
    const other = await begin(MESSAGE);
    await cancel();
    await rewind(other);
    await answer();
    expect(await state()).toMatchObject({ invocationId: id, state: 'completed' });
  });

  test('waits again after the rewind that undid it was undone, until it is cancelled', async () => {
    const { id, rewind, waiting, answer, cancel, state } = await waitingRun();
    const undoing = await rewind(id);
    expect(await state()).toMatchObject({ state: 'completed' });
    await rewind(undoing);
    expect(await state()).toEqual(waiting);
    expect(await cancel()).toBe(200);
    expect(await state()).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED' });
    expect(await answer()).toMatchObject({ code: 'INVALID_MESSAGE' });
  });

  test('no longer waits after a rewind to before an earlier run', async () => {
    const { send, stateOf } = await setUp(['hi', { calls: [{ name: 'order' }] }], undefined, undefined, resumable);
    const begin = async () => {
      const location = (await send('POST', `${SESSION}/runs`, MESSAGE)).headers.get('location');
      await (await send('GET', `${location}`)).text();
      return location;
    };
    const rewindBeforeInvocationId = (await begin())?.split('/').at(-1);
    const location = await begin();
    expect(await stateOf(location)).toMatchObject({ state: 'waiting' });
    await send('POST', `${SESSION}/rewind`, { rewindBeforeInvocationId });
    expect(await stateOf(location)).toMatchObject({ state: 'completed' });
  });
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
  const before = await sessionService.getSession(KEY);
  const response = await send('POST', `${SESSION}/runs`, body);
  expect([response.status, await response.json()]).toEqual([
    status,
    { error: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/) },
  ]);
  expect(response.headers.get('location')).toBeNull();
  expect(await sessionService.getSession(KEY)).toEqual(before);
});

test('a request id identifies one run and can be used in its address', async () => {
  const { sessionService, send, stateOf } = await setUp(['done', 'never']);
  const first = await send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: 'r-1' });
  const location = first.headers.get('location');
  await (await send('GET', `${location}`)).text();
  const again = await send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: 'r-1' });
  expect([again.status, again.headers.get('location')]).toEqual([202, location]);
  expect(await again.json()).toEqual(await stateOf(location));
  expect(await stateOf(`${SESSION}/runs/r-1`)).toEqual(await stateOf(location));
  expect((await sessionService.getSession(KEY))?.events).toHaveLength(2);
});

test('the request that starts a run is answered with the end of the run, if the run ended first', async () => {
  /** A relay whose runs other processes find only once they have ended. */
  class LateRelay extends InMemoryRunRelay {
    override publish(log: RunLog): RunPublication {
      return { ...super.publish(log), announced: log.ended };
    }
  }
  const steps = ['done', { error: new TypeError('no') }];
  const relay = new LateRelay(new RunNetwork());
  const { send, stateOf } = await setUp(steps, undefined, undefined, false, relay, 60_000);
  for (const state of ['completed', 'failed']) {
    const begun = await send('POST', `${SESSION}/runs`, { ...MESSAGE, requestId: state });
    expect(begun.status).toBe(202);
    const answer: unknown = await begun.json();
    expect(answer).toMatchObject({ state });
    expect(await stateOf(begun.headers.get('location'))).toEqual(answer);
  }
});

test('a webhook is refused by a server that sends none, with the option to set', async () => {
  const { send } = await setUp(['done']);
  const response = await send('POST', `${SESSION}/runs`, { ...MESSAGE, webhook: { url: 'https://hooks.example' } });
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      code: 'INVALID_REQUEST',
      error: 'webhook: this server sends no webhooks; give it the option webhooks, or request the state of the run',
    },
  ]);
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
