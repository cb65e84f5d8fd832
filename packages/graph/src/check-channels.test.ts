import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, END, replace, START, StateGraph } from './index.ts';
import { same } from './fixtures/checked-graph.ts';

/** Two nodes that write a channel. */
function writing(options: object, writes: readonly string[] = ['draft']) {
  const graph = new StateGraph({ name: 'g', channels: { draft: channel(z.string(), options) } })
    .addNode('first', same, { writes: writes as never })
    .addNode('second', same, { writes: ['draft'] });
  return () => graph.addEdge(START, 'first').addEdge('first', 'second').addEdge('second', END).compile();
}

test('compile rejects two nodes that write a channel without a reducer, and accepts them with one', () => {
  expect(writing({})).toThrow(/"first" and "second" write the channel "draft"/);
  expect(writing({ reducer: replace })).not.toThrow();
  expect(writing({}, [])).not.toThrow();
});

test('compile rejects an unknown channel in writes and a stateKey that is not stored', () => {
  expect(writing({ reducer: replace }, ['darft'])).toThrow(/"first" writes "darft"/);
  expect(writing({ reducer: replace, stateKey: 'temp:x' })).toThrow(
    'channel "draft": the stateKey "temp:x" is not stored; write a key without temp:',
  );
  const twice = { a: channel(z.string(), { stateKey: 'x' }), b: channel(z.string(), { stateKey: 'x' }) };
  const graph = new StateGraph({ name: 'g', channels: twice }).addNode('n', same).addEdge(START, 'n').addEdge('n', END);
  expect(() => graph.compile()).toThrow(/"a" and "b" have the same stateKey/);
});
