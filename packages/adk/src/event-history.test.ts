import { createEvent, type EventParams } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ParallelAgent } from '@eventloom/multi-agent';
import { functionCallEvent, functionResponseEvent, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { determineAgentForResumption } from './event-history.ts';

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
