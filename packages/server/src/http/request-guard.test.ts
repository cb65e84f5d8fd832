import { InvalidRequestError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { checkRequestTarget } from './request-guard.ts';

test.each([
  '/a/../b',
  '/a/./b',
  '/..',
  '/a/%2e%2E/b',
  '/a/.%2e',
  '/a/%2e/b',
  '/a\\..\\b',
  '/a/.\t./b',
  '/a/..?x',
  '/a/..#x',
  'http://localhost/a/%2e%2e/b',
  'http://localhost/..',
])('%j has a dot segment', (target) => {
  expect(() => checkRequestTarget(target)).toThrow(InvalidRequestError);
});

test.each(['/', '/a/..b/c', '/a/...', '/a/%252e%252e', '/a?x=/../y', '/a/..%2fb', 'http://./a', '*'])(
  'requestOrigin of %j is undefined',
  (target) => {
    expect(() => checkRequestTarget(target)).not.toThrow();
  },
);
