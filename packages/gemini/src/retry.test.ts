import { RunAbortedError } from '@eventloom/core';
import { wait } from '@eventloom/core/internal';
import { fixedPlatform } from '@eventloom/testing';
import { expect, test } from 'vitest';

test('wait resolves after its delay', async () => {
  const platform = fixedPlatform();
  let over = false;
  const waiting = wait(100, platform, undefined).then(() => (over = true));
  platform.advance(99);
  await Promise.resolve();
  expect(over).toBe(false);
  platform.advance(1);
  await waiting;
});

test('wait rejects immediately for an aborted signal', async () => {
  const platform = fixedPlatform();
  await expect(wait(100, platform, AbortSignal.abort())).rejects.toBeInstanceOf(RunAbortedError);
  expect(platform.pendingTimers).toBe(0);
});
