import type { Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { END, NodeError, type NodeContext, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

/** Runs a graph of `a`, whose router answers `routes`, and of `b`, which both of them lead to. */
async function run(work: (context: NodeContext) => unknown, routes: readonly ('x' | 'y')[]): Promise<Event[]> {
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', (_: string, context) => work(context as unknown as NodeContext))
    .addNode('b', () => 'done')
    .addEdge(START, 'a')
    .addConditionalEdges('a', () => routes, { x: 'b', y: ['b', END] })
    .addEdge('b', END)
    .compile();
  return (await scenario({ agent })).run();
}

test('a node runs once when two routes lead to it', async () => {
  const events = await run(() => 'a', ['x', 'y']);
  expect(events.filter(({ author }) => author === 'b')).toHaveLength(1);
});

test('a node that sets a route and has a router fails with a NodeError', async () => {
  const running = run((context) => (context.route = 'y'), ['x']);
  await expect(running).rejects.toThrow(NodeError);
  await expect(running).rejects.toThrow(/node "a".*"y".*router/);
});

test.each([
  ['nothing', null, /node "a".*runNode: expected a node, an agent or a tool/],
  ['a function', () => 1, /node "a".*node\('name'/],
  ['a name', 'b', /node "a".*runNode: expected a node, an agent or a tool/],
])('runNode throws an error that names the allowed kinds for %s', async (_, what, message) => {
  await expect(run((context) => context.runNode(what as never, 1), ['x'])).rejects.toThrow(message);
});
