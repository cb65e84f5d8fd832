import { systemPlatform } from '@eventloom/core';
import { expect, test } from 'vitest';
import { delayMsAfter, isRetried, prepareRetryConfig } from './retry.ts';

test('maxAttempts and maxDelay may be without a limit, and no delay is longer than a timer can be', () => {
  const config = prepareRetryConfig({ maxAttempts: Infinity, maxDelay: Infinity, jitter: 0 });
  expect(isRetried(config, 1_000_000, new Error('again'))).toBe(true);
  expect(delayMsAfter(config, 3, systemPlatform)).toBe(4000);
  expect(delayMsAfter(config, 5000, systemPlatform)).toBe(2 ** 31 - 1);
  expect(delayMsAfter({ ...config, initialDelay: 0 }, 5000, systemPlatform)).toBe(0);
});

test.each(['initialDelay', 'backoffFactor', 'jitter'])('%s without a limit is refused', (option) => {
  expect(() => prepareRetryConfig({ [option]: Infinity })).toThrow(
    `retryConfig: ${option}: expected a number of at least 0`,
  );
});
