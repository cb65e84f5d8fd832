import { expect, test } from 'vitest';
import { METER } from './meter.ts';
import { Watch } from './watch.ts';

const AMPLE = { timeoutMs: 1e9, maxOperations: 1e15 };

/** Ticks until the watch throws, and returns the ticks before and after its limit was exceeded. */
function tickUntilThrown(watch: Watch): { readonly before: number; readonly after: number } {
  let [before, after] = [0, 0];
  for (let tick = 0; tick < 1_000; tick++) {
    try {
      watch.tick();
    } catch (error) {
      expect(error).toMatchObject({ message: watch.stopped });
      return { before, after };
    }
    if (watch.stopped === undefined) before++;
    else after++;
  }
  return expect.unreachable();
}

test('code is stopped a few ticks after maxOperations', () => {
  const watch = new Watch({ ...AMPLE, maxOperations: 10 * METER.turns }, () => 0);
  watch.start();
  const { before, after } = tickUntilThrown(watch);
  expect(before).toBe(10);
  expect(after).toBeLessThan(20);
  expect(() => watch.tick()).toThrow();
});

test('code is stopped a few ticks after timeoutMs', () => {
  let nowMs = 5_000;
  const watch = new Watch({ ...AMPLE, timeoutMs: 7 }, () => nowMs++);
  watch.start();
  const { before, after } = tickUntilThrown(watch);
  expect(before).toBe(6);
  expect(after).toBeLessThan(20);
});

test('ticks before the code starts are not counted', () => {
  const watch = new Watch({ timeoutMs: 10, maxOperations: 10 * METER.turns }, () => 1_000);
  for (let tick = 0; tick < 9; tick++) watch.tick();
  watch.start();
  expect(tickUntilThrown(watch).before).toBe(10);
});
