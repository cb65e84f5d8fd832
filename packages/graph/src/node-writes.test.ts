import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, DEFAULT_ROUTE, END, node, type NodeContext, START, StateGraph } from './index.ts';
import { linesOf } from './fixtures/read-output.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

test("a channel with a stateKey has the session's value, and instructions can use it", async () => {
  const model = new ScriptedModel(['ok']);
  const agent = new StateGraph({
    name: 'g',
    channels: { mood: channel(z.string(), { stateKey: 'mood' }), own: channel(z.string()) },
  })
    .addNode(
      'note',
      (_: string, context) => context.update({ mood: `${context.state.mood}, then good`, own: 'hidden' }),
      { writes: ['mood', 'own'] },
    )
    .addNode('writer', new LlmAgent({ name: 'writer', model, instruction: 'Mood: {mood}. Own: {own?}.' }))
    .addEdge(START, 'note')
    .addEdge('note', 'writer')
    .addEdge('writer', END)
    .compile();
  const { run, session } = await scenario({ agent, state: { mood: 'bad' } });
  await run('x');
  expect(JSON.stringify(model.requests[0]?.request.config)).toContain('Mood: bad, then good. Own: .');
  expect((await session()).state).toEqual({ mood: 'bad, then good' });
});

test('channels have their default at the beginning of each run', async () => {
  const agent = new StateGraph({ name: 'g', channels: { count: channel(z.number(), { default: 5 }) } })
    .addNode('add', (_: string, context) => context.update({ count: context.state.count + 1 }), { writes: ['count'] })
    .addNode('tell', (_: unknown, context) => context.state.count)
    .addEdge(START, 'add')
    .addEdge('add', 'tell')
    .addEdge('tell', END)
    .compile();
  const { run } = await scenario({ agent });
  expect([linesOf(await run('x')), linesOf(await run('x'))]).toEqual([['g: 6'], ['g: 6']]);
});

test('a write that does not match the channel throws an error that names the node, and values that nodes read are frozen', async () => {
  const errors: unknown[] = [];
  const agent = new StateGraph({ name: 'g', channels: { list: channel(z.array(z.number()), { default: [1] }) } })
    .addNode(
      'bad',
      (_: string, context) => {
        try {
          context.state.list.push(2);
        } catch (error) {
          errors.push(error);
        }
        context.update({ list: ['x'] as never });
      },
      { writes: ['list'] },
    )
    .addEdge(START, 'bad')
    .addEdge('bad', END)
    .compile();
  const { run } = await scenario({ agent });
  await expect(run('x')).rejects.toThrow(/node "bad": the channel "list"/);
  expect(errors).toMatchObject([{ name: 'TypeError' }]);
});

test("update throws for a channel that is not in the node's writes", async () => {
  const agent = new StateGraph({ name: 'g', channels: { list: channel(z.number()) } })
    .addNode('bad', (_: string, context) => context.update({ list: 1 } as never))
    .addEdge(START, 'bad')
    .addEdge('bad', END)
    .compile();
  const { run } = await scenario({ agent });
  await expect(run('x')).rejects.toThrow(/node "bad".*"list".*writes/);
});

test("a node's route is taken, or DEFAULT_ROUTE when the route is unknown", async () => {
  for (const [text, expected] of [
    ['left', 'went left'],
    ['up', 'went elsewhere'],
    ['', 'went elsewhere'],
  ]) {
    const agent = new StateGraph({ name: 'g' })
      .addNode('choose', (input: string, context) => {
        context.route = input === '-' ? undefined : input;
      })
      .addNode('left', () => 'went left')
      .addNode('other', () => 'went elsewhere')
      .addEdge(START, 'choose')
      .addRoutes('choose', { left: 'left', [DEFAULT_ROUTE]: 'other' })
      .addEdge('left', END)
      .addEdge('other', END)
      .compile();
    const { run } = await scenario({ agent });
    expect(linesOf(await run(text || '-'))).toEqual([`g: ${expected}`]);
  }
});

test('an unknown route throws an error that names the node', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', () => 1)
    .addEdge(START, 'a')
    .addConditionalEdges('a', () => 'up' as never, { left: END, right: END })
    .compile();
  const { run } = await scenario({ agent });
  await expect(run('x')).rejects.toThrow(/node "a".*"up".*left, right/);
});

test('an inner node may write the channels that the outer node may write', async () => {
  const log = channel(z.array(z.string()), { reducer: append, default: [] });
  const inner = node('inner', (input: string, context: NodeContext<object, { log: string[] }>) =>
    context.update({ log: [input] }),
  );
  const graph = (writes: readonly 'log'[]) =>
    new StateGraph({ name: 'g', channels: { log } })
      .addNode(
        'outer',
        async (_: string, context) => void (await Promise.all(['a', 'b'].map((each) => context.runNode(inner, each)))),
        { writes },
      )
      .addNode('tell', (_: unknown, context) => context.state.log)
      .addEdge(START, 'outer')
      .addEdge('outer', 'tell')
      .addEdge('tell', END)
      .compile();
  expect(linesOf(await (await scenario({ agent: graph(['log']) })).run('x'))).toEqual(['g: ["a","b"]']);
  await expect((await scenario({ agent: graph([]) })).run('x')).rejects.toThrow(/node "inner".*"log"/);
});

test('running a node twice with the same key throws', async () => {
  const inner = node('inner', (input: string) => input);
  const graph = new StateGraph({ name: 'g' })
    .addNode('outer', async (_: string, context) => {
      await context.runNode(inner, 'a', { key: 'k' });
      return context.runNode(inner, 'b', { key: 'k' });
    })
    .addEdge(START, 'outer')
    .addEdge('outer', END)
    .compile();
  await expect((await scenario({ agent: graph })).run('x')).rejects.toThrow(
    /node "outer": runNode: the key "k" of "inner" is used twice/,
  );
});
