import { expect, test } from 'vitest';
import { isBelow } from './application.ts';

test.each([
  ['/data', '/data/a', true],
  ['/data', '/data', true],
  ['/data', '/data/..a', true],
  ['/', '/data', true],
  ['/data', '/data-2/a', false],
  ['/data', '/', false],
  ['/data', '/other', false],
])('%s holds %s: %j', (folder, path, expected) => {
  expect(isBelow(folder, path)).toBe(expected);
});
