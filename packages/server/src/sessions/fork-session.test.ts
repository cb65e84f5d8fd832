import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  type BaseArtifactService,
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  systemPlatform,
} from '@eventloom/core';
import { END, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { findLooseEnds, Runner } from '@eventloom/runner';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { KEY, serverScenario } from '../fixtures/server-scenario.ts';
import { readRunState } from '../runs/run-state.ts';
import type { ServerOptions } from '../server-options.ts';

const FORK = { ...KEY, sessionId: 'fork' };
const SESSIONS = '/apps/app/users/ann/sessions';

interface Answer {
  readonly status: number;
  readonly json: {
    readonly id?: string;
    readonly code?: string;
    readonly error?: string;
    readonly state?: Readonly<Record<string, unknown>>;
    readonly events?: readonly Event[];
  };
}

interface SetUp extends Partial<ServerOptions> {
  readonly steps?: readonly ScriptedStep[];
  readonly helper?: readonly ScriptedStep[];
  readonly resumable?: boolean;
  readonly artifactService?: BaseArtifactService;
  readonly root?: ConstructorParameters<typeof Runner>[0]['agent'];
}

/**
 * A server with the app `app`, whose agent has a tool that runs at once, one that needs approval, one that waits, and
 * an agent as a tool.
 */
async function setUp(given: SetUp = {}) {
  const { steps = [], helper = [], resumable = false, artifactService, root, ...options } = given;
  const paid: unknown[] = [];
  const sent: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (args) => (paid.push(args), { paid: true }),
  });
  const send = new FunctionTool({
    name: 'send',
    description: '',
    execute: (args) => (sent.push(args), { sent: true }),
  });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const note = new FunctionTool({
    name: 'note',
    description: '',
    execute: async (args, context) => {
      const { text } = args as { text: string };
      const { state } = context;
      for (const key of ['last', 'user:last', 'app:last']) state.set(key, text);
      if (state.has('draft')) state.remove('draft');
      if (artifactService) await context.saveArtifact('note.txt', { text });
      return { noted: text };
    },
  });
  const aide = new LlmAgent({
    name: 'aide',
    description: '',
    model: new ScriptedModel(helper),
    tools: [pay, send, wait],
  });
  const agentTool = new AgentTool({ agent: aide, streamInner: true });
  const { send: request, sessionService } = await serverScenario({
    steps,
    agent: root ?? { tools: [pay, send, wait, note, agentTool] },
    runner: { artifactService, resumable },
    hasSession: false,
    ...options,
  });
  const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await request(method, path, body);
    return { status: response.status, json: (await response.json()) as Answer['json'] };
  };
  const run = async (part: object, sessionId = 's') => {
    const message = { appName: 'app', userId: 'ann', sessionId, newMessage: { role: 'user', parts: [part] } };
    return ask('POST', '/run', message);
  };
  const say = (text: string, sessionId = 's') => run({ text }, sessionId);
  const answer = async (name: string, response: object, sessionId = 's') => {
    const calls = (await events(sessionId)).flatMap(getFunctionCalls);
    const id = calls.findLast((call) => call.name === name)?.id;
    return run({ functionResponse: { id, name, response } }, sessionId);
  };
  const events = async (sessionId = 's') => (await sessionService.getSession({ ...KEY, sessionId }))?.events ?? [];
  const fork = (afterEventId: string, sessionId = 'fork') =>
    ask('POST', `${SESSIONS}/s/fork`, { afterEventId, sessionId });
  /** Copies the session after its first event for which this is true. */
  const forkAfter = async (isLast: (event: Event) => boolean, sessionId = 'fork') => {
    const last = (await events()).find(isLast);
    const forked = await fork(last?.id ?? '', sessionId);
    expect(forked).toMatchObject({ status: 200 });
    return forked.json;
  };
  return { ask, run, say, answer, events, fork, forkAfter, paid, sent, sessionService };
}

const ASK = 'adk_request_confirmation';
const PAY: ScriptedStep = { calls: [{ id: 'p', name: 'pay', args: { amount: 1 } }] };
const note = (text: string): ScriptedStep => ({ calls: [{ name: 'note', args: { text } }] });
const asks = (name: string) => (event: Event) => getFunctionCalls(event).some((call) => call.name === name);
const responses = (events: readonly Event[]) => events.flatMap(getFunctionResponses);

describe.each([false, true])('a fork (resumable: %s)', (resumable) => {
  test('at an approval that waits can be approved, and the session itself still waits', async () => {
    const { say, answer, forkAfter, paid, events, sessionService } = await setUp({
      steps: [PAY, 'Paid.', 'Paid too.'],
      resumable,
    });
    await say('pay');
    const before = await events();
    const { events: copied } = await forkAfter(({ id }) => id === before.at(-1)?.id);
    expect(copied).toEqual(before);
    expect((await answer(ASK, { confirmed: true }, 'fork')).status).toBe(200);
    expect(paid).toEqual([{ amount: 1 }]);
    expect(await events()).toEqual(before);
    expect((await answer(ASK, { confirmed: true })).status).toBe(200);
    expect(paid).toHaveLength(2);
    for (const key of [KEY, FORK]) expect(await findLooseEnds(sessionService, key)).toEqual([]);
  });

  test('before the response that says that a call waits can be approved', async () => {
    const { say, answer, forkAfter, paid, sessionService } = await setUp({ steps: [PAY, 'Paid.'], resumable });
    await say('pay');
    const { events = [] } = await forkAfter(asks(ASK));
    expect(responses(events)).toMatchObject([{ id: 'p', response: { error: 'interrupted' } }]);
    await answer(ASK, { confirmed: true }, 'fork');
    expect(paid).toEqual([{ amount: 1 }]);
    expect(await findLooseEnds(sessionService, FORK)).toEqual([]);
  });

  test('at a call without a response answers it as interrupted, and a message continues', async () => {
    const { say, forkAfter, sent, sessionService } = await setUp({
      steps: [{ calls: [{ id: 'c', name: 'send' }] }, 'Sent.', 'Hello.'],
      resumable,
    });
    await say('send');
    const { events = [] } = await forkAfter(asks('send'));
    expect(responses(events)).toMatchObject([{ id: 'c', name: 'send', response: { error: 'interrupted' } }]);
    // The time of the copy is no part of the run.
    const asked = events.find(asks('send'));
    expect(new Set(events.slice(events.findIndex(asks('send'))).map(({ timestamp }) => timestamp))).toEqual(
      new Set([asked?.timestamp]),
    );
    const { json } = await say('hi', 'fork');
    expect(json).toMatchObject([{ content: { parts: [{ text: 'Hello.' }] } }]);
    expect(sent).toHaveLength(1);
    expect(await findLooseEnds(sessionService, FORK)).toEqual([]);
  });

  test('with approved work whose result comes later takes the result or a message, and does not repeat the work', async () => {
    let orders = 0;
    const order = new LongRunningFunctionTool({
      name: 'order',
      description: '',
      requireConfirmation: true,
      execute: () => void orders++,
    });
    const steps: ScriptedStep[] = [
      { calls: [{ id: 'o', name: 'order' }] },
      ...Array.from({ length: 9 }, () => 'Hello.'),
    ];
    const root = new LlmAgent({ name: 'agent', model: new ScriptedModel(steps), tools: [order] });
    const { say, answer, fork, events, sessionService } = await setUp({ root, resumable });
    await say('order');
    await answer(ASK, { confirmed: true });
    const all = await events();
    for (const sessionId of ['fork', 'fork-2']) {
      await fork(all.at(-1)?.id ?? '', sessionId);
      expect(await findLooseEnds(sessionService, { ...KEY, sessionId })).toEqual([]);
    }
    const hello = [{ content: { parts: [{ text: 'Hello.' }] } }];
    expect((await answer('order', { ordered: true }, 'fork')).json).toMatchObject(hello);
    expect((await say('hi', 'fork-2')).json).toMatchObject(hello);
    expect(orders).toBe(1);
    for (const sessionId of ['s', 'fork', 'fork-2'])
      expect(await findLooseEnds(sessionService, { ...KEY, sessionId })).toEqual([]);
  });

  test('after every event of a session has no loose ends, and takes a message', async () => {
    const steps: ScriptedStep[] = [
      { calls: [{ name: 'send' }, { id: 'p', name: 'pay', args: { amount: 1 } }] },
      'Paid.',
      { calls: [{ name: 'aide', args: { request: 'go' } }] },
      'Helped.',
      { calls: [{ id: 'w', name: 'wait' }] },
      'Done.',
      ...Array.from({ length: 60 }, () => 'Hello.'),
    ];
    const { say, answer, fork, events, sessionService, paid, ask } = await setUp({
      steps,
      helper: [{ calls: [{ name: 'send' }] }, 'Sent.'],
      resumable,
    });
    await say('pay');
    await answer(ASK, { confirmed: true });
    await say('help');
    await say('wait');
    await answer('wait', { status: 'ready' });
    const all = await events();
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
    for (const [index, { id }] of all.entries()) {
      const sessionId = `fork-${index}`;
      expect(await fork(id, sessionId)).toMatchObject({ status: 200, json: { id: sessionId } });
      expect((await events(sessionId)).slice(0, index + 1)).toEqual(all.slice(0, index + 1));
      expect(await findLooseEnds(sessionService, { ...KEY, sessionId }), `after ${index}`).toEqual([]);
      expect((await say('hi', sessionId)).json, `after ${index}`).toMatchObject([
        { content: { parts: [{ text: 'Hello.' }] } },
      ]);
    }
    expect(paid).toHaveLength(1);
    expect(await ask('GET', `${SESSIONS}/s`)).toMatchObject({ json: { events: all } });
  });
});

test('a fork says that a resumable run was ended early, unless the run had said everything', async () => {
  const steps: ScriptedStep[] = [{ calls: [{ id: 'c', name: 'send' }] }, 'Sent.'];
  const { say, events, fork, sessionService } = await setUp({ steps, resumable: true });
  await say('send');
  const all = await events();
  const states: unknown[] = [];
  for (const [index, { id, invocationId }] of all.entries()) {
    const sessionId = `fork-${index}`;
    await fork(id, sessionId);
    const run = await sessionService.findRun({ ...KEY, sessionId, id: invocationId });
    if (run) states.push(await readRunState(sessionService, systemPlatform, { ...KEY, sessionId }, run));
  }
  const stopped = { state: 'interrupted', code: 'RUN_ABANDONED', error: 'the session was copied before the run ended' };
  expect(states).toMatchObject([stopped, stopped, stopped, ...all.slice(3).map(() => ({ state: 'completed' }))]);
  expect(states.length).toBeGreaterThan(4);
});

test('a fork of a run in progress says that the run was ended early, also if only a record of an event follows', async () => {
  const steps: ScriptedStep[] = [{ calls: [{ name: 'aide', args: { request: 'go' } }] }, 'Helped.'];
  const helper: ScriptedStep[] = [{ calls: [{ name: 'send' }] }, 'Sent.'];
  const { say, events, fork, sessionService } = await setUp({ steps, helper, resumable: true });
  await say('help');
  const all = await events();
  const recordedAt = all.findIndex(({ object }) => object === 'runner.streamed');
  // The session of a process that was stopped right after it had stored the record.
  const records = [];
  for await (const record of sessionService.exportSession(KEY)) records.push(record);
  const before = records.slice(0, recordedAt + 2);
  await sessionService.deleteSession(KEY);
  await sessionService.importSession({ records: [...before, { type: 'end', events: recordedAt + 1, toolCalls: 0 }] });
  const { id = '', branch } = all[recordedAt - 1] ?? {};
  expect(branch).toContain('aide');
  expect(await fork(id)).toMatchObject({ status: 200 });
  const { invocationId } = all[0] ?? expect.unreachable();
  const run = (await sessionService.findRun({ ...FORK, id: invocationId })) ?? expect.unreachable();
  expect(await readRunState(sessionService, systemPlatform, FORK, run)).toMatchObject({
    state: 'interrupted',
    code: 'RUN_ABANDONED',
  });
});

test.each([true, false])(
  'a fork after any event of a cancellation has all of it (resumable: %s)',
  async (resumable) => {
    const calls = [
      { id: 'c1', name: 'pay', args: {} },
      { id: 'c2', name: 'wait', args: {} },
    ];
    const { say, ask, events, fork, sessionService } = await setUp({ steps: [{ calls }], resumable });
    await say('pay and wait');
    const before = await events();
    const id = before[0]?.invocationId ?? expect.unreachable();
    await ask('DELETE', `${SESSIONS}/s/runs/${id}`);
    const cancelling = (await events()).slice(before.length);
    expect(cancelling.length).toBeGreaterThan(2);
    for (const [index, event] of cancelling.entries()) {
      const key = { ...KEY, sessionId: `fork-${index}` };
      await fork(event.id, key.sessionId);
      const run = (await sessionService.findRun({ ...key, id })) ?? expect.unreachable();
      const state = { state: 'interrupted', code: 'RUN_ABORTED', error: 'the run was cancelled' };
      expect(await readRunState(sessionService, systemPlatform, key, run)).toMatchObject(state);
      expect(await findLooseEnds(sessionService, key)).toEqual([]);
    }
  },
);

test.each([true, false])(
  'a fork after any event of a run leaves no call of a called agent that waits for nobody (resumable: %s)',
  async (resumable) => {
    const calls = [
      { id: 'w', name: 'wait' },
      { id: 's', name: 'send' },
    ];
    const { say, ask, events, fork, sessionService, run } = await setUp({
      steps: [
        { calls: [{ id: 'a', name: 'aide', args: { request: 'go' } }] },
        ...Array.from({ length: 9 }, () => 'Done.'),
      ],
      helper: [{ calls }, ...Array.from({ length: 9 }, () => 'Helped.')],
      resumable,
    });
    await say('go');
    const [{ invocationId } = expect.unreachable()] = await events();
    // A run that waits ends by its cancellation, whose first event is the response to the call of the agent.
    await ask('DELETE', `${SESSIONS}/s/runs/${invocationId}`);
    const all = await events();
    for (const [index, { id }] of all.entries()) {
      const sessionId = `fork-${index}`;
      await fork(id, sessionId);
      const key = { ...KEY, sessionId };
      expect(await findLooseEnds(sessionService, key), `after ${index}`).toEqual([]);
      const copied = await events(sessionId);
      const isWaiting = copied.some(asks('wait')) && !responses(copied).some((response) => response.id === 'w');
      if (!isWaiting) continue;
      const answered = await run({ functionResponse: { id: 'w', name: 'wait', response: { ready: true } } }, sessionId);
      expect(answered.status, `after ${index}`).toBe(200);
      expect(await findLooseEnds(sessionService, key), `after ${index}`).toEqual([]);
    }
  },
);

test('a fork is a separate session with an id that names its origin, and can be forked, rewound and deleted', async () => {
  const { say, ask, forkAfter, events } = await setUp({ steps: ['One.', 'Two.', 'Three.'] });
  await say('1');
  await say('2');
  const before = await events();
  await forkAfter(({ content }) => content?.parts?.[0]?.text === 'One.');
  await say('3', 'fork');
  const { invocationId } = (await events('fork')).at(-1) ?? expect.unreachable();
  const rewound = await ask('POST', `${SESSIONS}/fork/rewind`, { rewindBeforeInvocationId: invocationId });
  expect(rewound.status).toBe(200);
  const [first] = await events('fork');
  const again = await ask('POST', `${SESSIONS}/fork/fork`, { afterEventId: first?.id });
  expect(again).toMatchObject({
    status: 200,
    json: { id: expect.stringMatching(/^fork-fork-at-1-[\da-f]{8}$/), events: [first] },
  });
  await ask('DELETE', `${SESSIONS}/fork`);
  expect(await events()).toEqual(before);
});

test('a fork has the state at its event, including the initial state, and shares state of the user and the app', async () => {
  const { ask, say, forkAfter } = await setUp({ steps: [note('one'), 'Noted.', note('two'), 'Noted.'] });
  const state = { plan: 'gold', draft: 1, 'user:name': 'Ann' };
  await ask('POST', SESSIONS, { sessionId: 's', state });
  await say('note one');
  await say('note two');
  const shared = { 'user:name': 'Ann', 'user:last': 'two', 'app:last': 'two' };
  const first = await forkAfter(({ author }) => author === 'user', 'first');
  expect(first.state).toEqual({ plan: 'gold', draft: 1, ...shared });
  const second = await forkAfter((event) => responses([event]).length > 0, 'second');
  expect(second.state).toEqual({ plan: 'gold', last: 'one', ...shared });
  // The history still says what was written then.
  expect(second.events?.at(-1)?.actions.stateDelta).toEqual({ last: 'one', 'user:last': 'one', 'app:last': 'one' });
  const { json } = await ask('GET', `${SESSIONS}/s`);
  expect(json.state).toEqual({ plan: 'gold', last: 'two', ...shared });
});

test('a fork that is rewound to its beginning has the state with which the session began', async () => {
  const { ask, say, forkAfter, events } = await setUp({ steps: [note('one'), 'Noted.'] });
  await ask('POST', SESSIONS, { sessionId: 's', state: { plan: 'gold', draft: 1 } });
  await say('note one');
  await forkAfter((event) => responses([event]).length > 0);
  const [first] = await events('fork');
  await ask('POST', `${SESSIONS}/fork/rewind`, { rewindBeforeInvocationId: first?.invocationId });
  const { json } = await ask('GET', `${SESSIONS}/fork`);
  expect(json.state).toEqual({ plan: 'gold', draft: 1, 'user:last': 'one', 'app:last': 'one' });
});

test('a fork has the artifact versions of its event', async () => {
  const artifactService = new InMemoryArtifactService();
  const { say, forkAfter } = await setUp({ steps: [note('one'), 'Noted.', note('two'), 'Noted.'], artifactService });
  await artifactService.saveArtifact({ ...KEY, filename: 'upload.txt', artifact: { text: 'mine' } });
  await artifactService.saveArtifact({ ...KEY, filename: 'user:own.txt', artifact: { text: 'shared' } });
  await say('note one');
  await say('note two');
  await forkAfter((event) => responses([event]).length > 0);
  expect((await artifactService.listArtifactKeys(FORK)).toSorted()).toEqual(['note.txt', 'upload.txt', 'user:own.txt']);
  expect(await artifactService.listVersions({ ...FORK, filename: 'note.txt' })).toEqual([0]);
  expect(await artifactService.listVersions({ ...FORK, filename: 'user:own.txt' })).toEqual([0]);
  expect(await artifactService.loadArtifact({ ...FORK, filename: 'note.txt' })).toEqual({ text: 'one' });
  await forkAfter(({ author }) => author === 'user', 'early');
  expect(await artifactService.loadArtifact({ ...FORK, sessionId: 'early', filename: 'note.txt' })).toBeUndefined();
});

test('a fork is deleted with its artifacts if one of them cannot be copied', async () => {
  let isFull = false;
  class Full extends InMemoryArtifactService {
    override saveArtifact(request: Parameters<InMemoryArtifactService['saveArtifact']>[0]) {
      if (isFull && request.filename === 'note.txt') return Promise.reject(new Error('full'));
      return super.saveArtifact(request);
    }
  }
  const artifactService = new Full();
  const { say, fork, events, sessionService } = await setUp({ steps: [note('one'), 'Noted.'], artifactService });
  await artifactService.saveArtifact({ ...KEY, filename: 'a.txt', artifact: { text: 'a' } });
  await say('note one');
  isFull = true;
  expect(await fork((await events()).at(-1)?.id ?? '')).toMatchObject({ status: 500, json: { code: 'INTERNAL' } });
  expect(await sessionService.getSession(FORK)).toBeUndefined();
  expect(await artifactService.listArtifactKeys(FORK)).toEqual([]);
});

test('an approval in a fork does not repeat completed calls', async () => {
  const step: ScriptedStep = { calls: [{ name: 'send' }, { id: 'p', name: 'pay', args: {} }] };
  const { say, answer, forkAfter, sent, paid } = await setUp({ steps: [step, 'Paid.'], resumable: true });
  await say('go');
  await forkAfter((event) => responses([event]).length > 0);
  await answer(ASK, { confirmed: true }, 'fork');
  expect([sent.length, paid.length]).toEqual([1, 1]);
});

test('an agent that runs as a tool and waits continues in a fork', async () => {
  const { say, answer, forkAfter, paid, events, sessionService } = await setUp({
    steps: [{ calls: [{ id: 'a', name: 'aide', args: { request: 'pay' } }] }, 'All done.', 'All done.'],
    helper: [PAY, 'Paid.', 'Paid.'],
    resumable: true,
  });
  await say('go');
  const all = await events();
  await forkAfter(({ id }) => id === all.at(-1)?.id);
  expect(await events('fork')).toEqual(all);
  await answer(ASK, { confirmed: true }, 'fork');
  expect(paid).toEqual([{ amount: 1 }]);
  expect(responses(await events('fork'))).toContainEqual(
    expect.objectContaining({ id: 'a', response: { result: 'Paid.' } }),
  );
  expect(await findLooseEnds(sessionService, FORK)).toEqual([]);
});

test('a graph that waits for input continues in a fork, and repeats no node', async () => {
  const ran: string[] = [];
  const root = new StateGraph({ name: 'graph' })
    .addNode('order', () => {
      ran.push('order');
      return 'ordered';
    })
    .addNode('ask', async (_input, context) => {
      const size = await context.requestInput({ message: 'Which size?' });
      ran.push(`ask ${String(size)}`);
      return size;
    })
    .addEdge(START, 'order')
    .addEdge('order', 'ask')
    .addEdge('ask', END)
    .compile();
  const { say, answer, forkAfter, events, sessionService } = await setUp({ root, resumable: true });
  await say('go');
  const asked = (await events()).find(asks('adk_request_input'));
  await answer('adk_request_input', { result: 'small' });
  // The ledger of the session now has a node that the copy has not run.
  await forkAfter(({ id }) => id === asked?.id);
  await answer('adk_request_input', { result: 'large' }, 'fork');
  expect(ran).toEqual(['order', 'ask small', 'ask large']);
  expect(await findLooseEnds(sessionService, FORK)).toEqual([]);
});

describe('a fork is refused', () => {
  const user = (userId: string) => ({ authenticate: () => ({ userId }) });

  test.each<[string, object | undefined, number, string, string]>([
    ['without a body', undefined, 400, 'INVALID_REQUEST', 'body'],
    ['without an event', {}, 400, 'INVALID_REQUEST', 'afterEventId: is missing'],
    ['for an empty id', { afterEventId: '' }, 400, 'INVALID_REQUEST', 'afterEventId: expected a string'],
    ['for an id of a wrong kind', { afterEventId: 5 }, 400, 'INVALID_REQUEST', 'afterEventId: expected a string'],
    ['for an unknown event', { afterEventId: 'x' }, 400, 'INVALID_REQUEST', 'the session "s" has no event "x"'],
    ['for an empty new id', { afterEventId: 'LAST', sessionId: '' }, 400, 'INVALID_REQUEST', 'sessionId'],
    ['for a long new id', { afterEventId: 'LAST', sessionId: 'x'.repeat(257) }, 400, 'INVALID_REQUEST', 'sessionId'],
    ['for a taken id', { afterEventId: 'LAST', sessionId: 's' }, 409, 'SESSION_ALREADY_EXISTS', '"s" already exists'],
    [
      'for an unknown field',
      { afterEventId: 'LAST', until: 5 },
      400,
      'INVALID_REQUEST',
      '"until": the body has no such field',
    ],
    ['for a misspelt id', { afterEventId: 'LAST', sesionId: 'x' }, 400, 'INVALID_REQUEST', 'did you mean "sessionId"?'],
    ['for a misspelt field', { afterEventID: 'x' }, 400, 'INVALID_REQUEST', 'afterEventId: is missing'],
  ])('%s, and changes nothing', async (_when, body, status, code, error) => {
    const { say, ask, events, sessionService } = await setUp({ steps: ['One.'] });
    await say('1');
    const before = await events();
    const last = before.at(-1)?.id;
    const filled =
      body && 'afterEventId' in body && body.afterEventId === 'LAST' ? { ...body, afterEventId: last } : body;
    const refused = await ask('POST', `${SESSIONS}/s/fork`, filled);
    expect(refused).toMatchObject({ status, json: { code, error: expect.stringContaining(error) } });
    expect((await sessionService.listSessions({ appName: 'app' })).sessions).toHaveLength(1);
    expect(await events()).toEqual(before);
  });

  test('for a session that does not exist, and one of another user', async () => {
    const { ask } = await setUp(user('bob'));
    const missing = await ask('POST', '/apps/app/users/bob/sessions/none/fork', { afterEventId: 'x' });
    expect(missing).toMatchObject({ status: 404, json: { code: 'SESSION_NOT_FOUND' } });
    const foreign = await ask('POST', `${SESSIONS}/s/fork`, { afterEventId: 'x' });
    expect(foreign).toMatchObject({ status: 403, json: { code: 'FORBIDDEN' } });
  });

  test('for events that are larger than the limit, and releases their count', async () => {
    const { say, ask, events, sessionService } = await setUp({
      steps: [`${'long '.repeat(500)}`, 'Two.'],
      limits: { maxBodyBytesInFlightPerUser: 2000 },
    });
    await say('1');
    const [first, last] = [(await events())[0]?.id, (await events()).at(-1)?.id];
    const refused = await ask('POST', `${SESSIONS}/s/fork`, { afterEventId: last });
    expect(refused).toMatchObject({ status: 413, json: { code: 'SIZE_LIMIT' } });
    expect((await sessionService.listSessions({ appName: 'app' })).sessions).toHaveLength(1);
    for (let time = 0; time < 5; time++)
      expect((await ask('POST', `${SESSIONS}/s/fork`, { afterEventId: first })).status).toBe(200);
  });
});

test('a fork of imported events runs none of their calls', async () => {
  const { ask, fork, answer, paid } = await setUp({ steps: ['No.'], authenticate: () => ({ userId: 'ann' }) });
  const event = (id: string, author: string, parts: object[], more: object = {}) => ({
    id,
    author,
    invocationId: 'e-1',
    content: { parts },
    ...more,
  });
  const call = { functionCall: { id: 'p', name: 'pay', args: { amount: 9 } } };
  const request = {
    functionCall: { id: 'r', name: ASK, args: { originalFunctionCall: call.functionCall, toolConfirmation: {} } },
  };
  const events = [
    event('1', 'user', [{ text: 'pay' }]),
    event('2', 'agent', [call]),
    event('3', 'agent', [request], { longRunningToolIds: ['r'] }),
    event('4', 'agent', [{ functionResponse: { id: 'p', name: 'pay', response: { error: 'asked' } } }]),
    event('5', 'user', [{ functionResponse: { id: 'r', name: ASK, response: { confirmed: false } } }]),
    event('6', 'agent', [{ functionResponse: { id: 'p', name: 'pay', response: { error: 'rejected' } } }]),
  ];
  expect((await ask('POST', SESSIONS, { sessionId: 's', events })).status).toBe(200);
  expect((await fork('4')).status).toBe(200);
  expect((await answer(ASK, { confirmed: true }, 'fork')).status).toBe(400);
  expect(paid).toEqual([]);
});

test.each([
  ['many events', 1000, 1],
  ['large events', 20, 200_000],
])('other requests are answered while a session of %s is copied', async (_what, events, chars) => {
  const { ask, fork, sessionService } = await setUp();
  const session = await sessionService.createSession(KEY);
  const content = { role: 'user', parts: [{ text: 'x'.repeat(chars) }] };
  for (let index = 0; index < events; index++) {
    const event = createEvent({ id: `id-${index}`, invocationId: `e-${index}`, author: 'user', content });
    await sessionService.appendEvent({ session, event });
  }
  let isCopied = false;
  const copying = fork(`id-${events - 1}`).finally(() => (isCopied = true));
  let answered = 0;
  for (; !isCopied; answered++) {
    await new Promise((resolve) => setTimeout(resolve));
    expect((await ask('GET', '/list-apps')).status).toBe(200);
  }
  expect((await copying).status).toBe(200);
  expect(answered).toBeGreaterThan(3);
});
