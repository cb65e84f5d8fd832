import { expect, test, vi } from 'vitest';
import { systemPlatform } from './platform.ts';

test('event ids begin with the time of the clock', () => {
  const before = Date.now();
  const id = systemPlatform.newEventId();
  const timeMs = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  expect(timeMs).toBeGreaterThanOrEqual(before);
  expect(timeMs).toBeLessThanOrEqual(Date.now());
  expect(systemPlatform.now()).toBeGreaterThanOrEqual(before);
});

test('background logs a rejection and does not throw', async () => {
  const report = vi.spyOn(console, 'error').mockReturnValue(undefined);
  try {
    const failure = new TypeError('broken');
    const work = Promise.reject(failure);
    systemPlatform.background(work);
    systemPlatform.background(Promise.resolve());
    await work.catch(() => undefined);
    expect(report.mock.calls).toEqual([['background work failed', failure]]);
  } finally {
    report.mockRestore();
  }
});

test('schedule calls back once, and never after it was cancelled', async () => {
  const calls: string[] = [];
  const callOff = systemPlatform.schedule(0, () => calls.push('called off'));
  callOff();
  await new Promise<void>((resolve) => {
    systemPlatform.schedule(0, () => {
      calls.push('called');
      resolve();
    });
  });
  expect(calls).toEqual(['called']);
});
