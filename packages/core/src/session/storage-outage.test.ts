import { expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/manual-platform.ts';
import { StorageError } from '../errors.ts';
import { repeatWhileUnavailable } from './storage-outage.ts';

test('the pauses of an outage double, less a part that the random numbers of the platform choose', async () => {
  const pauses: number[] = [];
  const platform = Object.assign(new ManualPlatform(), {
    random: () => 0.2,
    schedule: (delayMs: number, callback: () => void) => {
      pauses.push(delayMs);
      queueMicrotask(callback);
      return () => undefined;
    },
  });
  const outage = StorageError.of('the storage', new Error('unreachable'), true);
  const attempts = [outage, outage, undefined];
  const work = async (): Promise<string> => {
    const failure = attempts.shift();
    if (failure) throw failure;
    return 'stored';
  };
  expect(await repeatWhileUnavailable(work, outage, platform, platform.now() + 1000)).toBe('stored');
  expect(pauses).toEqual([15, 30, 60]);
});
