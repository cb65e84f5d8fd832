import { expect, test } from 'vitest';
import { forkId, originOf } from './fork-id.ts';

test('the id of a fork says where the fork comes from, also for a fork of a fork', () => {
  const first = forkId('749cc280', 9, '13e2d8b2');
  expect(originOf(first)).toBe('fork of 749cc280, event 9');
  expect(originOf(forkId(first, 12, 'aaaa0000'))).toBe('fork of fork-749cc280-at, event 12');
  expect(forkId('x'.repeat(200), 1, 'a').length).toBeLessThan(40);
});

test('the id of another session has no origin', () => {
  expect(originOf('749cc280')).toBeUndefined();
  expect(originOf('fork-me')).toBeUndefined();
});
