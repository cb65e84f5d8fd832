import { createEvent, type EventParams } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ParallelAgent } from '@eventloom/multi-agent';
import { functionCallEvent, functionResponseEvent, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { determineAgentForResumption, isAdkFinalResponse as isFinalResponse } from './event-history.ts';

test('the agent for a response is the one that made the call on the branch of the response, also if another used its id', () => {
  const [fast, slow] = ['fast', 'slow'].map((name) => new LlmAgent({ name, model: new ScriptedModel([]) }));
  const both = new ParallelAgent({
    name: 'both',
    subAgents: [fast ?? expect.unreachable(), slow ?? expect.unreachable()],
  });
  const on = (name: string): EventParams => ({ invocationId: 'e', branch: `both.${name}` });
  const calls = ['fast', 'slow'].map((name) =>
    functionCallEvent(name, [{ id: 'c', name: 'look', args: {} }], { ...on(name), longRunningToolIds: ['c'] }),
  );
  const agentFor = (name: string): string => {
    const response = functionResponseEvent('user', [{ id: 'c', name: 'look', response: {} }], on(name));
    const events = [createEvent({ author: 'user', invocationId: 'e' }), ...calls, response];
    return determineAgentForResumption({ events }, both, { isResumable: true }).name;
  };
  expect(['fast', 'slow'].map(agentFor)).toEqual(['fast', 'slow']);
});

test('isFinalResponse is true for an event that asks for a credential, and for any event with skipSummarization', () => {
  const content = { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'pay', response: {} } }] };
  const isFinal = (params: EventParams): boolean => isFinalResponse(createEvent(params));
  expect(isFinal({ content, actions: { requestedAuthConfigs: { c1: {} } } })).toBe(true);
  expect(isFinal({ content, actions: { requestedAuthConfigs: {} } })).toBe(false);
  expect(isFinal({ actions: { skipSummarization: true } })).toBe(true);
  expect(isFinal({ content, actions: { skipSummarization: true } })).toBe(true);
  expect(isFinal({ content: { role: 'model', parts: [{ text: 'Done.' }] } })).toBe(true);
  expect(isFinal({ actions: { stateDelta: { a: 1 } } })).toBe(false);
});
