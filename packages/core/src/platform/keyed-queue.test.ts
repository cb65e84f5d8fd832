import { expect, test } from 'vitest';
import { KeyedQueue } from './keyed-queue.ts';

test('work of a key waits for earlier work of the key, and not for work of other keys', async () => {
  const queue = new KeyedQueue();
  const begun: string[] = [];
  const gate = Promise.withResolvers<void>();
  const work = (name: string, wait?: Promise<void>) => async () => {
    begun.push(name);
    await wait;
    return name;
  };
  const results = [queue.run('a', work('a1', gate.promise)), queue.run('a', work('a2')), queue.run('a', work('a3'))];
  expect(await queue.run('b', work('b1'))).toBe('b1');
  expect(begun).toEqual(['a1', 'b1']);
  gate.resolve();
  expect(await Promise.all(results)).toEqual(['a1', 'a2', 'a3']);
  expect(begun).toEqual(['a1', 'b1', 'a2', 'a3']);
});

test('work is done after work that failed, whose error only its own caller gets', async () => {
  const queue = new KeyedQueue();
  const failing = queue.run('a', () => Promise.reject(new Error('no')));
  const next = queue.run('a', async () => 'done');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('done');
});

test('a queue has a key while the key has work', async () => {
  const queue = new KeyedQueue();
  const done = Promise.all([queue.run('a', async () => 'first'), queue.run('a', async () => 'second')]);
  expect([queue.has('a'), queue.has('b')]).toEqual([true, false]);
  expect(await done).toEqual(['first', 'second']);
  await expect.poll(() => queue.has('a')).toBe(false);
});
