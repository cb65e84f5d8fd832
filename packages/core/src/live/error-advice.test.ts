import { expect, test } from 'vitest';
import { errorAdvice } from './error-advice.ts';

test.each([
  ['SAFETY', 'stop', false],
  ['PROHIBITED_CONTENT', 'stop', false],
  ['BLOCKLIST', 'stop', false],
  ['MAX_TOKENS', 'stop', false],
  ['CANCELLED', 'stop', false],
  ['RESOURCE_EXHAUSTED', 'retry', false],
  ['UNAVAILABLE', 'continue', false],
  ['DEADLINE_EXCEEDED', 'continue', false],
  ['UNKNOWN', 'continue', true],
  ['SOMETHING_NEW', 'continue', true],
  ['toString', 'continue', true],
])('after %s a caller is to %s', (errorCode, action, log) => {
  expect(errorAdvice(errorCode)).toEqual({ action, log });
});
