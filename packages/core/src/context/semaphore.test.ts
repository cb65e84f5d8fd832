import { expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

test('a semaphore limits the tasks that run at the same time, and serves waiting tasks in order', async () => {
  const slots = new Semaphore(2);
  const had: number[] = [];
  const takes = Array.from({ length: 5 }, (_, index) => slots.take().then(() => had.push(index)));
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  await settle();
  expect(had).toEqual([0, 1]);
  slots.give();
  await settle();
  expect(had).toEqual([0, 1, 2]);
  // A slot that a waiting task received is not free for another one.
  slots.give();
  slots.give();
  await Promise.all(takes);
  expect(had).toEqual([0, 1, 2, 3, 4]);
  slots.give();
  slots.give();
  await slots.take();
  await slots.take();
  let isTaken = false;
  void slots.take().then(() => (isTaken = true));
  await settle();
  expect(isTaken).toBe(false);
});
