import { AgentError, ConfigurationError, ModelError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { failureText } from './failure-text.ts';

test('of an error that was foreseen one line is printed, with its reason once', () => {
  expect(failureText(new ConfigurationError('no key is set'))).toBe('CONFIGURATION: no key is set');
  const cause = new TypeError('fetch failed');
  expect(failureText(new ModelError('no connection: fetch failed', { cause, errorCode: 'UNAVAILABLE' }))).toBe(
    'MODEL: no connection: fetch failed',
  );
  expect(failureText(new ModelError('no connection', { cause, errorCode: 'UNAVAILABLE' }))).toBe(
    'MODEL: no connection: fetch failed',
  );
});

test('of an error of an agent, and of one that nobody foresaw, it is printed where it was thrown', () => {
  const cause = new TypeError('x is undefined');
  const text = failureText(new AgentError('agent "a" failed', { cause }));
  expect(text).toMatch(
    /^AGENT: agent "a" failed\n {2}because of TypeError: x is undefined\n {4}at .*failure-text\.test\.ts/,
  );
  expect(failureText(cause)).toContain('failure-text.test.ts');
});
