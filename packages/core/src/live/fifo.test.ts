import { expect, test } from 'vitest';
import { Fifo } from './fifo.ts';

interface Item {
  readonly at: number;
}

function fifoOf(count: number): Fifo<Item> {
  const fifo = new Fifo<Item>();
  for (let at = 0; at < count; at++) fifo.push({ at });
  return fifo;
}

test('a queue returns items in the order in which they were pushed, also after many were taken', () => {
  const fifo = fifoOf(3000);
  const taken: (number | undefined)[] = [];
  for (let at = 0; at < 2500; at++) taken.push(fifo.shift()?.at);
  fifo.push({ at: 3000 });
  taken.push(...fifo.values().map(({ at }) => at));
  expect(taken).toEqual(Array.from({ length: 3001 }, (_, at) => at));
});

test('peek leaves the oldest item in the queue until shift', async () => {
  const fifo = fifoOf(2);
  expect(await fifo.peek()).toEqual({ at: 0 });
  expect(await fifo.peek()).toEqual({ at: 0 });
  expect(fifo.shift()).toEqual({ at: 0 });
  expect(await fifo.peek()).toEqual({ at: 1 });
});

test('a waiting reader gets the next item that is pushed', async () => {
  const fifo = fifoOf(0);
  const waiting = fifo.peek();
  fifo.push({ at: 1 });
  expect(await waiting).toEqual({ at: 1 });
});

test('end resolves a waiting reader, and a later reader gets the remaining items first', async () => {
  const fifo = fifoOf(0);
  const waiting = fifo.peek();
  fifo.end();
  expect(await waiting).toBeUndefined();
  fifo.push({ at: 1 });
  expect(await fifo.peek()).toEqual({ at: 1 });
  fifo.shift();
  expect(await fifo.peek()).toBeUndefined();
});

test('an aborted reader stops waiting, and the next reader gets the next item', async () => {
  const fifo = fifoOf(0);
  const controller = new AbortController();
  const waiting = fifo.peek(controller.signal);
  controller.abort(new TypeError('enough'));
  await expect(waiting).rejects.toThrow('enough');
  fifo.push({ at: 1 });
  await expect(fifo.peek(controller.signal)).rejects.toThrow('enough');
  expect(await fifo.peek()).toEqual({ at: 1 });
});

test('drop removes items from any position', () => {
  const fifo = fifoOf(5);
  fifo.shift();
  fifo.drop(({ at }) => at % 2 === 1);
  expect(fifo.values()).toEqual([{ at: 2 }, { at: 4 }]);
  expect([fifo.shift(), fifo.shift(), fifo.shift()]).toEqual([{ at: 2 }, { at: 4 }, undefined]);
});
