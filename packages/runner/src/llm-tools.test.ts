import { BaseTool, type Event, type FunctionCall, type RunConfig, type RunAsyncToolRequest } from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(steps: readonly ScriptedStep[], tools: LlmAgentConfig['tools'] = []) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedModel(steps);
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model, tools }),
    sessionService,
    platform,
  });
  const run = (runConfig: RunConfig = {}): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] }, runConfig });
  const state = async () => (await sessionService.getSession(KEY))?.state;
  return { model, runner, run, state, sessionService };
}

function call(name: string, args: Record<string, unknown> = {}, id?: string): FunctionCall {
  return { ...(id === undefined ? {} : { id }), name, args };
}

function responsesOf(event: Event | undefined) {
  return (event?.content?.parts ?? []).map((part) => part.functionResponse?.response);
}

// Answers.

test.each([
  [
    'throws',
    () => {
      throw new RangeError('too far');
    },
    { error: 'too far' },
  ],
  [
    'throws an error without a message',
    () => {
      throw new RangeError();
    },
    { error: 'RangeError' },
  ],
  ['rejects with a text', () => Promise.reject('no paper'), { error: 'no paper' }],
  ['returns nothing', () => undefined, { result: null }],
  [
    'returns a class instance',
    () => ({ at: new Map() }),
    { error: 'tool f returned something that is not JSON: the result at at is a Map, not a plain object' },
  ],
])('a tool that %s answers the model, and the run goes on', async (_, execute: () => unknown, response) => {
  const { model, run } = await setUp(
    [{ calls: [call('f')] }, 'I see.'],
    [new FunctionTool({ name: 'f', description: '', execute })],
  );
  const events = await run();
  expect(responsesOf(events[1])).toEqual([response]);
  expect(events).toHaveLength(3);
  model.assertConsumed();
});

test('a tool whose runAsync throws at once answers the model as well', async () => {
  class Throwing extends BaseTool {
    override runAsync(): never {
      throw new RangeError('at once');
    }
  }
  const { run } = await setUp([{ calls: [call('f')] }, 'ok'], [new Throwing({ name: 'f', description: '' })]);
  expect(responsesOf((await run())[1])).toEqual([{ error: 'at once' }]);
});

test('a name that no tool has is answered with the names that exist', async () => {
  const tools = ['find', 'buy'].map((name) => new FunctionTool({ name, description: '', execute: () => '' }));
  const { run } = await setUp([{ calls: [call('serach')] }, { calls: [call('constructor')] }, 'ok'], tools);
  const events = await run();
  expect(responsesOf(events[1])).toEqual([{ error: 'there is no tool named "serach"; the tools are: find, buy' }]);
  expect(responsesOf(events[3])).toEqual([{ error: 'there is no tool named "constructor"; the tools are: find, buy' }]);
});

test('an agent without tools answers a call with that', async () => {
  const { run } = await setUp([{ calls: [call('find')] }, 'ok']);
  expect(responsesOf((await run())[1])).toEqual([{ error: 'there is no tool named "find"; there are no tools' }]);
});

test.each([
  ['zod', z.object({ n: z.number().int() }), 'n: Invalid input: expected number, received string'],
  ['JSON Schema', { type: 'object', properties: { n: { type: 'integer' } } }, 'n: must be an integer, is a string'],
  [
    'the genai dialect',
    { type: 'OBJECT', properties: { n: { type: 'INTEGER' } } },
    'n: must be an integer, is a string',
  ],
])('arguments that %s refuses cost one step, and the model can correct them', async (_, parameters, issue) => {
  const tool = new FunctionTool({ name: 'f', description: '', parameters, execute: (args) => args });
  const { model, run } = await setUp(
    [{ calls: [call('f', { n: 'x' }, 'c1')] }, { calls: [call('f', { n: 2 }, 'c2')] }, 'ok'],
    [tool],
  );
  const events = await run();
  expect(responsesOf(events[1])).toEqual([{ error: `the arguments of f are not valid: ${issue}` }]);
  expect(responsesOf(events[3])).toEqual([{ n: 2 }]);
  model.assertConsumed();
});

test('a tool may change its arguments: the stored call keeps the model’s', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (args) => {
      (args['list'] as number[]).push(2);
      return args;
    },
  });
  const { run } = await setUp([{ calls: [call('f', { list: [1] })] }, 'ok'], [tool]);
  const events = await run();
  expect(events[0]?.content?.parts?.[0]?.functionCall?.args).toEqual({ list: [1] });
  expect(responsesOf(events[1])).toEqual([{ list: [1, 2] }]);
});

test('a call that the model’s service answered in the same reply is not run, and its reply is final', async () => {
  const parts = [
    { functionCall: call('remote', {}, 'r1') },
    { functionResponse: { id: 'r1', name: 'remote', response: { result: 1 } } },
    { text: 'Done.' },
  ];
  const remote = new FunctionTool({ name: 'remote', description: '', execute: (): never => expect.unreachable() });
  const { model, run } = await setUp([{ parts }], [remote]);
  const events = await run();
  expect(events.map((event) => event.content?.parts)).toEqual([parts]);
  model.assertConsumed();
});

// Several calls at once.

test('calls of one reply run at the same time, and answer in call order in one event', async () => {
  const gates = [new Gate(), new Gate(), new Gate()];
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: async ({ n }) => {
      await gates[Number(n)]?.pass();
      return n;
    },
  });
  const { run } = await setUp(
    [{ calls: [call('f', { n: 0 }), call('f', { n: 1 }), call('f', { n: 2 })] }, 'ok'],
    [tool],
  );
  const running = run();
  await Promise.all(gates.map((gate) => gate.reached));
  for (const gate of gates.toReversed()) {
    gate.open();
    await Promise.resolve();
  }
  const events = await running;
  expect(events).toHaveLength(3);
  expect(events[1]?.content?.role).toBe('user');
  expect(responsesOf(events[1])).toEqual([{ result: 0 }, { result: 1 }, { result: 2 }]);
});

/** Counts how many of its calls run at the same time. */
class Crowd extends BaseTool {
  running = 0;
  most = 0;
  started: number[] = [];

  constructor() {
    super({ name: 'f', description: '' });
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    this.started.push(Number(args['n']));
    this.most = Math.max(this.most, ++this.running);
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    this.running--;
    return args['n'];
  }
}

test.each([
  [{ maxParallelToolCalls: 1 }, 1],
  [{ maxParallelToolCalls: 3 }, 3],
  [{}, 16],
])('with %j at most %i calls run at the same time', async (runConfig, most) => {
  const tool = new Crowd();
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const { run } = await setUp([{ calls: numbers.map((n) => call('f', { n })) }, 'ok'], [tool]);
  const events = await run(runConfig);
  expect(tool.most).toBe(most);
  expect(tool.started).toEqual(numbers);
  expect(responsesOf(events[1])).toEqual(numbers.map((result) => ({ result })));
});

test('one call that fails leaves the others their answers', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: ({ n }) => {
      if (n === 1) throw new RangeError('one');
      return n;
    },
  });
  const { run } = await setUp([{ calls: [0, 1, 2].map((n) => call('f', { n })) }, 'ok'], [tool]);
  expect(responsesOf((await run())[1])).toEqual([{ result: 0 }, { error: 'one' }, { result: 2 }]);
});

test('each call has a context of its own, and what they change is merged in call order', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: ({ n }, { state, actions, functionCallId }) => {
      state.set('last', n);
      state.set(`key ${String(n)}`, functionCallId);
      if (n === 0) state.set('gone', true);
      if (n === 1) state.remove('gone');
      if (n === 2) actions.escalate = true;
    },
  });
  const { run, state } = await setUp([{ calls: [0, 1, 2].map((n) => call('f', { n }, `c${n}`)) }, 'ok'], [tool]);
  const events = await run();
  const delta = { last: 2, 'key 0': 'c0', 'key 1': 'c1', 'key 2': 'c2' };
  expect(events[1]?.actions).toEqual({ stateDelta: delta, artifactDelta: {}, removedState: ['gone'], escalate: true });
  expect(await state()).toEqual(delta);
});

// Control.

test('a tool that says skipSummarization ends the turn with its answer', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_, { actions }) => {
      actions.skipSummarization = true;
      return 'the answer';
    },
  });
  const { model, run } = await setUp([{ calls: [call('f'), call('f')] }], [tool]);
  const events = await run();
  expect(events).toHaveLength(2);
  expect(events[1]?.actions.skipSummarization).toBe(true);
  model.assertConsumed();
});

test('a tool that ends the invocation is answered, and nothing follows', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_, { invocationContext }) => invocationContext.endInvocation(),
  });
  const { model, run } = await setUp([{ calls: [call('f')] }], [tool]);
  expect(await run()).toHaveLength(2);
  model.assertConsumed();
});

// The ledger.

test('each call is recorded when it starts and when it has ended, with its answer', async () => {
  const gate = new Gate();
  const tools = [
    new FunctionTool({ name: 'slow', description: '', execute: () => gate.pass() }),
    new FunctionTool({ name: 'fast', description: '', execute: () => 'quick' }),
    new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined }),
  ];
  const { runner, sessionService } = await setUp(
    [{ calls: [call('slow', {}, 'a'), call('fast', {}, 'b'), call('later', {}, 'c'), call('lost', {}, 'd')] }],
    tools,
  );
  let invocationId = '';
  let eventId = '';
  const running = (async () => {
    for await (const event of runner.runAsync({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } }))
      ({ invocationId, id: eventId } = event);
  })();
  await gate.reached;
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  const reply = eventId;
  const calls = () => sessionService.listToolCalls({ ...KEY, invocationId });
  expect(await calls()).toEqual([
    { invocationId, callId: `${reply}/a`, name: 'slow', status: 'started' },
    { invocationId, callId: `${reply}/b`, name: 'fast', status: 'finished', response: { result: 'quick' } },
    { invocationId, callId: `${reply}/c`, name: 'later', status: 'finished' },
  ]);
  gate.open();
  await running;
  expect((await calls())[0]).toEqual({
    invocationId,
    callId: `${reply}/a`,
    name: 'slow',
    status: 'finished',
    response: { result: null },
  });
});

// Long-running tools.

function answering(...ids: string[]) {
  return { role: 'user', parts: ids.map((id) => ({ functionResponse: { id, response: { status: `done ${id}` } } })) };
}

function later(name: string, first?: unknown): LongRunningFunctionTool {
  return new LongRunningFunctionTool({ name, description: '', execute: () => first });
}

const SAY = { userId: 'u', sessionId: 's' };

test('a long-running tool without a first answer leaves its call open, and the agent waits', async () => {
  const { model, run } = await setUp([{ calls: [call('approve', {}, 'c1')] }], [later('approve')]);
  const events = await run();
  expect(events).toHaveLength(1);
  expect(events[0]?.longRunningToolIds).toEqual(['c1']);
  model.assertConsumed();
});

test('the answer that comes later goes to the model next to its call', async () => {
  const { model, runner, run } = await setUp([{ calls: [call('approve', {}, 'c1')] }, 'Approved.'], [later('approve')]);
  await run();
  const events = await runner.run({ ...SAY, newMessage: answering('c1') });
  expect(events.map((event) => event.content?.parts?.[0]?.text)).toEqual(['Approved.']);
  expect(model.requests[1]?.request.contents.slice(1)).toEqual([
    { role: 'model', parts: [{ functionCall: call('approve', {}, 'c1') }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'approve', response: { status: 'done c1' } } }] },
  ]);
});

test('a first status is told to the model, and the later answer takes its place', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1')] }, 'I asked.', 'Approved.'];
  const { model, runner, run } = await setUp(steps, [later('approve', { status: 'pending' })]);
  const events = await run();
  expect(responsesOf(events[1])).toEqual([{ status: 'pending' }]);
  expect(events).toHaveLength(3);
  await runner.run({ ...SAY, newMessage: answering('c1') });
  expect(model.requests[2]?.request.contents.slice(1)).toEqual([
    { role: 'model', parts: [{ functionCall: call('approve', {}, 'c1') }] },
    { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'approve', response: { status: 'done c1' } } }] },
    { role: 'model', parts: [{ text: 'I asked.' }] },
  ]);
});

test('of two open calls the model is asked when both are answered', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1'), call('sign', {}, 'c2')] }, 'Both done.'];
  const { model, runner, run } = await setUp(steps, [later('approve'), later('sign')]);
  expect((await run())[0]?.longRunningToolIds).toEqual(['c1', 'c2']);
  expect(await runner.run({ ...SAY, newMessage: answering('c2') })).toEqual([]);
  expect(model.calls).toBe(1);
  expect(await runner.run({ ...SAY, newMessage: answering('c1') })).toHaveLength(1);
  expect(responsesOf({ content: model.requests[1]?.request.contents[2] } as Event)).toEqual([
    { status: 'done c1' },
    { status: 'done c2' },
  ]);
});

test('two open calls can be answered in one message', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1'), call('sign', {}, 'c2')] }, 'Both done.'];
  const { runner, run } = await setUp(steps, [later('approve'), later('sign')]);
  await run();
  expect(await runner.run({ ...SAY, newMessage: answering('c2', 'c1') })).toHaveLength(1);
});

test('what ran at once beside a long-running call is answered at once, and the agent still waits', async () => {
  const quick = new FunctionTool({ name: 'quick', description: '', execute: () => 1 });
  const steps = [{ calls: [call('approve', {}, 'c1'), call('quick', {}, 'c2')] }, 'ok'];
  const { model, runner, run } = await setUp(steps, [later('approve'), quick]);
  const events = await run();
  expect(events).toHaveLength(2);
  expect(responsesOf(events[1])).toEqual([{ result: 1 }]);
  expect(model.calls).toBe(1);
  expect(await runner.run({ ...SAY, newMessage: answering('c1') })).toHaveLength(1);
});

test('a call that a broken run left open does not keep the agent from going on', async () => {
  const started = Promise.withResolvers<void>();
  const hangs = new FunctionTool({
    name: 'hangs',
    description: '',
    execute: () => {
      started.resolve();
      return new Promise(() => undefined);
    },
  });
  const steps = [{ calls: [call('hangs', {}, 'c1'), call('approve', {}, 'c2')] }, 'Approved.'];
  const { runner } = await setUp(steps, [hangs, later('approve')]);
  const controller = new AbortController();
  const running = runner.run({ ...SAY, newMessage: { parts: [{ text: 'hi' }] }, abortSignal: controller.signal });
  await started.promise;
  controller.abort();
  await expect(running).rejects.toThrow('aborted');
  expect(await runner.run({ ...SAY, newMessage: answering('c2') })).toHaveLength(1);
});

test('what a user says instead of an answer is answered, and the call stays open', async () => {
  const steps = [{ calls: [call('approve', {}, 'c1')] }, 'Still waiting.', 'Approved.'];
  const { runner, run } = await setUp(steps, [later('approve')]);
  await run();
  expect((await run())[0]?.content?.parts?.[0]?.text).toBe('Still waiting.');
  expect(await runner.run({ ...SAY, newMessage: answering('c1') })).toHaveLength(1);
});

test('state that a long-running tool writes is stored, also when it has no answer yet', async () => {
  const tool = new LongRunningFunctionTool({
    name: 'approve',
    description: '',
    execute: (_, { state }) => state.set('asked', true),
  });
  const { run, state } = await setUp([{ calls: [call('approve', {}, 'c1')] }], [tool]);
  const events = await run();
  expect(events[1]).toMatchObject({ author: 'bot', actions: { stateDelta: { asked: true } } });
  expect(events[1]).not.toHaveProperty('content');
  expect(await state()).toEqual({ asked: true });
});
