import { AgentError, ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { failureText } from './failure-text.ts';

test('of an error that was foreseen nothing but the code and the message is printed', () => {
  expect(failureText(new ConfigurationError('no key is set'))).toBe('CONFIGURATION: no key is set');
});

test('of an error of an agent it is printed where it was thrown', () => {
  const text = failureText(new AgentError('agent "a" failed', { cause: new TypeError('x is undefined') }));
  expect(text).toMatch(
    /^AGENT: agent "a" failed\n {2}because of TypeError: x is undefined\n {4}at .*failure-text\.test\.ts/,
  );
});
