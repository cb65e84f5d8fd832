import { CallbackContext, ConfigurationError, createEvent, ToolContext } from '@eventloom/core';
import { expect, test } from 'vitest';
import { testContext } from './test-context.ts';

test('a tool reads and writes state in a test context', () => {
  const tool = new ToolContext({ invocationContext: testContext({ state: { city: 'Paris' } }), functionCallId: 'c1' });
  expect(tool.state.get('city')).toBe('Paris');
  tool.state.set('city', 'Rome');
  expect(tool.actions.stateDelta).toEqual({ city: 'Rome' });
});

test('a callback gets the given events and the given message', () => {
  const events = [createEvent({ author: 'user' })];
  const userContent = { role: 'user', parts: [{ text: 'hi' }] };
  const context = testContext({ events, userContent });
  expect(context.session.events).toBe(events);
  expect(new CallbackContext({ invocationContext: context }).userContent).toBe(userContent);
  expect(context.agent.name).toBe('agent');
});

test('a test context has no runner that could run an agent as a tool', () => {
  const context = testContext();
  const request = { agent: context.agent, callId: 'c', userContent: { parts: [] }, streaming: false };
  expect(() => context.runSubInvocation(request)).toThrow(ConfigurationError);
});

test('testContext refuses an agent that is not one', () => {
  expect(() => testContext({ agent: {} as never })).toThrow(
    "testContext: agent: expected an agent, got an object; write agent: new LlmAgent({ name: 'helper' })",
  );
});
