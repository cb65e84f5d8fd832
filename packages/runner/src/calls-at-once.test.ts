import { BaseTool, type RunAsyncToolRequest } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, responsesOf, scenario } from './fixtures/scenario.ts';

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

// Several calls at once.

test('calls of one reply run concurrently, and their responses are one event in call order', async () => {
  const gates = [new Gate(), new Gate(), new Gate()];
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: async ({ n }) => {
      await gates[Number(n)]?.pass();
      return n;
    },
  });
  const { run } = await scenario({
    model: [{ calls: [call('f', { n: 0 }), call('f', { n: 1 }), call('f', { n: 2 })] }, 'ok'],
    agent: { tools: [tool] },
  });
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

test.each([
  [{ maxParallelToolCalls: 1 }, 1],
  [{ maxParallelToolCalls: 3 }, 3],
  [{}, 16],
])('with %j at most %i calls run at the same time', async (runConfig, most) => {
  const tool = new Crowd();
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const { run } = await scenario({
    model: [{ calls: numbers.map((n) => call('f', { n })) }, 'ok'],
    agent: { tools: [tool] },
  });
  const events = await run('hi', { runConfig });
  expect(tool.most).toBe(most);
  expect(tool.started).toEqual(numbers);
  expect(responsesOf(events[1])).toEqual(numbers.map((result) => ({ result })));
});

test('a failed call does not affect the responses of others', async () => {
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: ({ n }) => {
      if (n === 1) throw new RangeError('one');
      return n;
    },
  });
  const { run } = await scenario({
    model: [{ calls: [0, 1, 2].map((n) => call('f', { n })) }, 'ok'],
    agent: { tools: [tool] },
  });
  expect(responsesOf((await run())[1])).toEqual([{ result: 0 }, { error: 'one' }, { result: 2 }]);
});

test('each call has its own context, and changes are merged in call order', async () => {
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
  const { run, state } = await scenario({
    model: [{ calls: [0, 1, 2].map((n) => call('f', { n }, `c${n}`)) }, 'ok'],
    agent: { tools: [tool] },
  });
  const events = await run();
  const delta = { last: 2, 'key 0': 'c0', 'key 1': 'c1', 'key 2': 'c2' };
  expect(events[1]?.actions).toEqual({ stateDelta: delta, artifactDelta: {}, removedState: ['gone'], escalate: true });
  expect(await state()).toEqual(delta);
});
