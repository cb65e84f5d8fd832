import { expect, test } from 'vitest';
import { within } from './platform.ts';

/** Timers that a test ends, and the number of those that are pending. */
function setUp() {
  const pending = new Set<() => void>();
  const schedule = (_delayMs: number, callback: () => void): (() => void) => {
    pending.add(callback);
    return () => void pending.delete(callback);
  };
  const expire = (): void => {
    for (const callback of pending) callback();
  };
  return { timers: { schedule }, pending, expire };
}

test('within settles as the work does, and cancels its timer', async () => {
  const { timers, pending } = setUp();
  expect(await within(timers, Promise.resolve('done'), 10)).toBe('done');
  await expect(within(timers, Promise.reject(new RangeError('broken')), 10)).rejects.toThrow('broken');
  expect(pending.size).toBe(0);
});

test.each([
  ['undefined by default', undefined, undefined],
  ['the value of onLate', () => 'late', 'late'],
])('after the time-out within resolves to %s', async (_title, onLate, expected) => {
  const { timers, expire } = setUp();
  const result = within(timers, new Promise<never>(() => undefined), 10, onLate);
  expire();
  expect(await result).toBe(expected);
});

test('after the time-out within rejects with the error of onLate, and a later failure of the work is not reported', async () => {
  const { timers, expire } = setUp();
  const work = Promise.withResolvers<void>();
  const result = within(timers, work.promise, 10, () => {
    throw new RangeError('late');
  });
  expire();
  await expect(result).rejects.toThrow('late');
  work.reject(new TypeError('nobody waits for it'));
});
