import { expect, test } from 'vitest';
import { originOf } from './fork-id.ts';

test('the id of a fork names its origin, and that of a fork of a fork says that it is one', () => {
  expect(originOf('fork-749cc280-at-9-13e2d8b2')).toBe('fork of 749cc280, event 9');
  expect(originOf('fork-fork-749cc280-at-at-12-aaaa0000')).toBe('fork of another fork, event 12');
});

test('the id of another session has no origin', () => {
  expect(originOf('749cc280')).toBeUndefined();
  expect(originOf('fork-me')).toBeUndefined();
});
