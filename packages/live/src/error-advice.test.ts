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
  ['LIVE_CONNECTION', 'stop', false],
  ['SESSION_TIME_LIMIT', 'stop', false],
  ['LLM_CALL_LIMIT', 'stop', false],
  ['HAND_OVER_LIMIT', 'stop', false],
  ['AGENT', 'stop', true],
  ['CONFIGURATION', 'stop', true],
  ['INVALID_MESSAGE', 'continue', false],
  ['AUDIO_NOT_SAVED', 'continue', true],
  ['UNKNOWN', 'continue', true],
  ['SOMETHING_NEW', 'continue', true],
  ['toString', 'continue', true],
])('after %s the error advises the caller to %s', (errorCode, action, log) => {
  expect(errorAdvice(errorCode)).toEqual({ action, log });
});
