import { BaseTool } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { call, KEY, responsesOf, scenario } from './fixtures/scenario.ts';

class Money {
  readonly amount: number;

  constructor(amount: number) {
    this.amount = amount;
  }
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
  ['returns an instance of a class', () => new Money(5), { amount: 5 }],
  [
    'returns a BigInt',
    () => ({ at: 5n }),
    { error: 'tool f returned a value that is not JSON: the result at at is a bigint' },
  ],
])('a tool that %s gives the model a response, and the run continues', async (_, execute: () => unknown, response) => {
  const { model, run } = await scenario({
    model: [{ calls: [call('f')] }, 'I see.'],
    agent: { tools: [new FunctionTool({ name: 'f', description: '', execute })] },
  });
  const events = await run();
  expect(responsesOf(events[1])).toEqual([response]);
  expect(events).toHaveLength(3);
  model.assertConsumed();
});

test.each([
  ['a tool returns', {}],
  ['a callback returns in place of the result', { afterToolCallback: () => ({ rows: new Map([['a', 1]]) }) }],
])(
  'a value that JSON would lose, which %s, is an error for the model and is reported to the developer',
  async (_, callbacks) => {
    const failed: unknown[] = [];
    const { model, run, platform } = await scenario({
      model: [{ calls: [call('f')] }, 'I see.'],
      agent: {
        tools: [new FunctionTool({ name: 'f', description: '', execute: () => ({ rows: new Map([['a', 1]]) }) })],
        ...callbacks,
      },
      instrumentation: [
        {
          start: ({ kind }) => ({
            run: (step) => step(),
            end: (end) => void (kind === 'tool' && failed.push(end.status === 'error' ? end.error : end.status)),
          }),
        },
      ],
    });
    const events = await run();
    const error =
      'tool f returned a value that is not JSON: the result at rows is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map))';
    expect(responsesOf(events[1])).toEqual([{ error }]);
    model.assertConsumed();
    await expect(platform.drain()).rejects.toMatchObject({ code: 'INVALID_EVENT', message: error });
    expect(failed).toMatchObject([{ message: error }]);
  },
);

test('a tool whose runAsync throws synchronously gives an error response too', async () => {
  class Throwing extends BaseTool {
    override runAsync(): never {
      throw new RangeError('at once');
    }
  }
  const { run } = await scenario({
    model: [{ calls: [call('f')] }, 'ok'],
    agent: { tools: [new Throwing({ name: 'f', description: '' })] },
  });
  expect(responsesOf((await run())[1])).toEqual([{ error: 'at once' }]);
});

test('a ConfigurationError of a tool is reported to the developer beside the response for the model', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_args, context) => context.searchMemory('cats'),
  });
  const { run, platform } = await scenario({ model: [{ calls: [call('f')] }, 'Sorry.'], agent: { tools: [tool] } });
  const reason =
    'searchMemory: the runner has no memoryService; write memoryService: new InMemoryMemoryService() in its options';
  expect(responsesOf(await run())).toEqual([{ error: reason }]);
  await expect(platform.drain()).rejects.toThrow(reason);
});

test('a call of an unknown tool is answered with the existing names', async () => {
  const tools = ['find', 'buy'].map((name) => new FunctionTool({ name, description: '', execute: () => '' }));
  const { run } = await scenario({
    model: [{ calls: [call('serach')] }, { calls: [call('constructor')] }, 'ok'],
    agent: { tools },
  });
  const events = await run();
  expect(responsesOf(events[1])).toEqual([{ error: 'there is no tool named "serach"; the tools are: find, buy' }]);
  expect(responsesOf(events[3])).toEqual([{ error: 'there is no tool named "constructor"; the tools are: find, buy' }]);
});

test('a call of an agent without tools is answered with an error', async () => {
  const { run } = await scenario({ model: [{ calls: [call('find')] }, 'ok'] });
  expect(responsesOf((await run())[1])).toEqual([{ error: 'there is no tool named "find"; there are no tools' }]);
});

test.each([
  ['zod', z.object({ n: z.number().int() }), 'n: Invalid input: expected number, received string'],
  [
    'JSON Schema',
    { type: 'object', properties: { n: { type: 'integer' } } },
    'n: Instance type "string" is invalid. Expected "integer".',
  ],
  [
    'the genai dialect',
    { type: 'OBJECT', properties: { n: { type: 'INTEGER' } } },
    'n: Instance type "string" is invalid. Expected "integer".',
  ],
])('the model can correct arguments that %s refuses with one more step', async (_, parameters, issue) => {
  const tool = new FunctionTool({ name: 'f', description: '', parameters, execute: (args) => args });
  const { model, run } = await scenario({
    model: [{ calls: [call('f', { n: 'x' }, 'c1')] }, { calls: [call('f', { n: 2 }, 'c2')] }, 'ok'],
    agent: { tools: [tool] },
  });
  const events = await run();
  expect(responsesOf(events[1])).toEqual([{ error: `the arguments of f are not valid: ${issue}` }]);
  expect(responsesOf(events[3])).toEqual([{ n: 2 }]);
  model.assertConsumed();
});

test("a tool may change its arguments, and the stored call keeps the model's", async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (args) => {
      (args['list'] as number[]).push(2);
      return args;
    },
  });
  const { run } = await scenario({ model: [{ calls: [call('f', { list: [1] })] }, 'ok'], agent: { tools: [tool] } });
  const events = await run();
  expect(events[0]?.content?.parts?.[0]?.functionCall?.args).toEqual({ list: [1] });
  expect(responsesOf(events[1])).toEqual([{ list: [1, 2] }]);
});

test('a call that the service answered in the same reply is not run, and the reply is final', async () => {
  const parts = [
    { functionCall: call('remote', {}, 'r1') },
    { functionResponse: { id: 'r1', name: 'remote', response: { result: 1 } } },
    { text: 'Done.' },
  ];
  const remote = new FunctionTool({ name: 'remote', description: '', execute: (): never => expect.unreachable() });
  const { model, run } = await scenario({ model: [{ parts }], agent: { tools: [remote] } });
  const events = await run();
  expect(events.map((event) => event.content?.parts)).toEqual([parts]);
  model.assertConsumed();
});

// Control.

test('each request has the declaration that the class of a tool returns for it', async () => {
  class Counting extends BaseTool {
    #asked = 0;
    constructor() {
      super({ name: 'f', description: '' });
    }
    override _getDeclaration() {
      return { name: this.name, description: `step ${this.#asked}` };
    }
    override async runAsync(): Promise<unknown> {
      return ++this.#asked;
    }
  }
  const { run, model } = await scenario({
    model: [{ calls: [call('f')] }, 'done'],
    agent: { tools: [new Counting()] },
  });
  await run();
  const declared = model.requests.map(({ request }) => JSON.stringify(request.config.tools));
  expect(declared).toEqual([expect.stringContaining('step 0'), expect.stringContaining('step 1')]);
});

test('a tool with skipSummarization ends the turn with its response', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_, { actions }) => {
      actions.skipSummarization = true;
      return 'the answer';
    },
  });
  const { model, run } = await scenario({ model: [{ calls: [call('f'), call('f')] }], agent: { tools: [tool] } });
  const events = await run();
  expect(events).toHaveLength(2);
  expect(events[1]?.actions.skipSummarization).toBe(true);
  model.assertConsumed();
});

test('a tool that ends the invocation gets its response, and nothing follows', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: (_, { invocationContext }) => void (invocationContext.endInvocation = true),
  });
  const { model, run } = await scenario({ model: [{ calls: [call('f')] }], agent: { tools: [tool] } });
  expect(await run()).toHaveLength(2);
  model.assertConsumed();
});

// The ledger.

test('each call is recorded in the ledger when it starts and, with its response, when it ends', async () => {
  const gate = new Gate();
  const tools = [
    new FunctionTool({ name: 'slow', description: '', execute: () => gate.pass() }),
    new FunctionTool({ name: 'fast', description: '', execute: () => 'quick' }),
    new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined }),
  ];
  const { runner, sessionService } = await scenario({
    model: [{ calls: [call('slow', {}, 'a'), call('fast', {}, 'b'), call('later', {}, 'c'), call('lost', {}, 'd')] }],
    agent: { tools },
  });
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
    { invocationId, entryId: `${reply}/a`, name: 'slow', status: 'started' },
    { invocationId, entryId: `${reply}/b`, name: 'fast', status: 'finished', response: { result: 'quick' } },
    { invocationId, entryId: `${reply}/c`, name: 'later', status: 'finished' },
  ]);
  gate.open();
  await running;
  expect((await calls())[0]).toEqual({
    invocationId,
    entryId: `${reply}/a`,
    name: 'slow',
    status: 'finished',
    response: { result: null },
  });
});
