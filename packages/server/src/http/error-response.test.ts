import * as core from '@eventloom/core';
import { expect, test } from 'vitest';
import * as server from '../index.ts';
import { errorStatus } from './error-response.ts';

const errors = Object.values({ ...core, ...server }).filter(
  (value): value is typeof core.EventloomError =>
    typeof value === 'function' && value.prototype instanceof core.EventloomError,
);

test('every error of the core and of the server was given a status on purpose', () => {
  // 500 is also what a code gets that is forgotten, so those that mean it are named.
  const meant500 = ['AGENT', 'CONFIGURATION', 'HAND_OVER_LIMIT', 'LLM_CALL_LIMIT'];
  const unmapped = errors
    .map(({ code }) => code)
    .filter((code) => errorStatus(code) === 500 && !meant500.includes(code));
  expect(unmapped).toEqual([]);
});

test('a code that nobody knows is the fault of the server', () => {
  expect([errorStatus('NOPE'), errorStatus('__proto__'), errorStatus('toString')]).toEqual([500, 500, 500]);
});
