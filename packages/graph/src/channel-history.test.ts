import { InvalidRequestError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, START, stateAfter, StateGraph } from './index.ts';
import { waiting } from './fixtures/waiting-run.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

test.each([undefined, 'items'])(
  'a history grows linearly with the run whatever the values of the channels, with the stateKey %s',
  async (stateKey) => {
    const item = (round: number) => ({ round, text: 'some words about it' });
    const sizeOf = async (rounds: number) => {
      const items = channel(z.array(z.object({ round: z.number(), text: z.string() })), {
        reducer: append,
        default: [],
        ...(stateKey === undefined ? {} : { stateKey }),
      });
      const sub = new StateGraph({ name: 'sub' })
        .addNode('in', () => 1)
        .addEdge(START, 'in')
        .addEdge('in', END)
        .compile();
      const agent = new StateGraph({ name: 'g', channels: { items } })
        .addNode('add', (_: unknown, context) => context.update({ items: [item(context.step)] }), { writes: ['items'] })
        .addNode('sub', sub)
        .addEdge(START, 'add')
        .addEdge('add', 'sub')
        .addConditionalEdges('sub', (_, { state }) => (state.items.length < rounds ? 'again' : 'done'), {
          again: 'add',
          done: END,
        })
        .compile();
      const { query } = await waiting(agent);
      const [history] = agent.history(await query());
      expect(history && stateAfter(history, 7)).toEqual({ items: [1, 3, 5, 7].map(item) });
      expect(history?.steps[7]?.nodes[0]?.graph?.output).toBe(1);
      return JSON.stringify(history).length;
    };
    expect((await sizeOf(40)) / (await sizeOf(20))).toBeLessThan(2.2);
  },
);

test("a history contains writes and removals by other agents under a channel's stateKey", async () => {
  const write = new FunctionTool({
    name: 'write',
    description: '',
    execute: (_, { state }) => state.set('k', ['agent']),
  });
  const remove = new FunctionTool({ name: 'remove', description: '', execute: (_, { state }) => state.remove('k') });
  const model = new ScriptedModel([{ calls: [{ name: 'write' }] }, 'done']);
  const agent = new StateGraph({
    name: 'g',
    channels: { k: channel(z.array(z.string()), { stateKey: 'k', default: [], reducer: append }) },
  })
    .addNode('agent', new LlmAgent({ name: 'a', model, tools: [write] }))
    .addNode('more', (_: unknown, context) => context.update({ k: ['more'] }), { writes: ['k'] })
    .addNode('keep', () => ({}))
    .addNode('remove', remove)
    .addEdge(START, 'agent')
    .addEdge('agent', 'more')
    .addEdge('more', 'keep')
    .addEdge('keep', 'remove')
    .addEdge('remove', END)
    .compile();
  const { run: start, stored } = await scenario({ agent });
  await start('x');
  const events = await stored();
  const [run] = agent.history({ events, invocationId: events[0]?.invocationId ?? '' });
  expect(run?.steps.map(({ changed, added, removed }) => ({ changed, added, removed }))).toEqual([
    { changed: { k: ['agent'] }, added: {}, removed: undefined },
    { changed: {}, added: { k: ['more'] }, removed: undefined },
    { changed: {}, added: {}, removed: undefined },
    { changed: {}, added: {}, removed: ['k'] },
  ]);
  expect(run?.state).toEqual({});
  expect([0, 1, 2, 3, 4].map((step) => run && stateAfter(run, step))).toEqual([
    { k: [] },
    { k: ['agent'] },
    { k: ['agent', 'more'] },
    { k: ['agent', 'more'] },
    {},
  ]);
});

test("a history has the channel's value after a list was appended to, replaced and appended to again", async () => {
  const l = channel(z.array(z.string()), {
    default: [],
    reducer: (current, [first = '', ...more]: string[]) =>
      first === 'new' ? more : [...(current ?? []), first, ...more],
  });
  const agent = new StateGraph({ name: 'g', channels: { l } })
    .addNode('a', (_: unknown, context) => context.update({ l: ['a'] }), { writes: ['l'] })
    .addNode('b', (_: unknown, context) => context.update({ l: ['b'] }), { writes: ['l'] })
    .addNode('reset', (_: unknown, context) => context.update({ l: ['new', 'x'] }), { writes: ['l'] })
    .addNode('c', (_: unknown, context) => context.update({ l: ['c'] }), { writes: ['l'] })
    .addEdge(START, 'a')
    .addEdge('a', ['b', 'reset'])
    .addJoin('both')
    .addEdge('b', 'both')
    .addEdge('reset', 'both')
    .addEdge('both', 'c')
    .addEdge('c', END)
    .compile();
  const { run: start, stored } = await scenario({ agent });
  await start('x');
  const events = await stored();
  const [run] = agent.history({ events, invocationId: events[0]?.invocationId ?? '' });
  expect(run?.steps.map(({ changed, added }) => ({ changed, added }))).toEqual([
    { changed: { l: ['a'] }, added: {} },
    { changed: { l: ['x'] }, added: {} },
    { changed: {}, added: {} },
    { changed: {}, added: { l: ['c'] } },
  ]);
  expect(run?.state).toEqual({ l: ['x', 'c'] });
  expect(run && stateAfter(run, 4)).toEqual({ l: ['x', 'c'] });
});

test.each(['x', undefined, {}])('stateAfter refuses %j, which is not a run', (run) => {
  expect(() => stateAfter(run as never, 0)).toThrow(InvalidRequestError);
  expect(() => stateAfter(run as never, 0)).toThrow('stateAfter: run: expected a run of a history, got');
});

test('stateAfter omits items that were appended before a list was replaced', () => {
  const step = { nodes: [], open: [], changed: {}, added: {} };
  const steps = [
    { ...step, step: 1, added: { l: ['a'] } },
    { ...step, step: 2, changed: { l: ['x'] } },
    { ...step, step: 3, added: { l: ['c'] } },
  ];
  expect(stateAfter({ initialState: { l: [] }, steps }, 3)).toEqual({ l: ['x', 'c'] });
});
