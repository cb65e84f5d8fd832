import { expect, test } from 'vitest';
import { GraphProgress } from './graph-progress.ts';
import { END, START, StateGraph } from './index.ts';

const pass = (input: unknown): unknown => input;

/** Two joins that lead to each other, each with another node before it. */
const { plan } = new StateGraph({ name: 'g' })
  .addNode('a', pass)
  .addNode('b', pass)
  .addJoin('late')
  .addJoin('early')
  .addEdge(START, ['b', 'a'])
  .addEdge('a', 'late')
  .addEdge('b', 'early')
  .addConditionalEdges('late', () => 'end', { on: 'early', end: END })
  .addConditionalEdges('early', () => 'on', { on: 'late', end: END })
  .compile();

test('if waiting joins lead to each other, the join that got an output first runs', () => {
  const progress = new GraphProgress(plan);
  const complete = (...next: readonly (readonly string[])[]): void => {
    for (const [index, targets] of next.entries())
      progress.complete(index, { output: progress.tasks[index]?.node ?? null, next: targets });
    progress.advance();
  };
  complete(['b', 'a']);
  complete(['early'], ['late']);
  expect(progress.tasks).toEqual([{ index: 0, node: 'early', input: { b: 'b' } }]);
  complete(['late']);
  expect(progress.tasks).toEqual([{ index: 0, node: 'late', input: { a: 'a', early: 'early' } }]);
  complete([END]);
  expect(progress.isAtEnd).toBe(true);
});
