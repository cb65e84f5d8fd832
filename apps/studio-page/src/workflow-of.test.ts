import { expect, test } from 'vitest';
import type { ShownAgent } from './studio-client.ts';
import { workflowOf } from './workflow-of.ts';

const agent = (name: string, kind = 'LlmAgent', ...calledAgents: ShownAgent[]): ShownAgent => {
  return { name, kind, description: '', tools: [], subAgents: [], calledAgents };
};
const flow = agent('flow', 'Workflow', agent('speaker'), agent('inner', 'Workflow', agent('deep')));

test.each([
  ['an agent in a node', 'speaker', flow, 'flow'],
  ['a function in a node', 'trim', flow, 'flow'],
  ['a workflow in a node', 'inner', flow, 'flow'],
  ['an agent in a workflow in a node', 'deep', flow, 'flow'],
  ['the workflow itself', 'flow', flow, undefined],
  ['a node of the only workflow', 'trim', agent('root', 'LlmAgent', flow), 'flow'],
  ['an agent outside', 'root', agent('root', 'LlmAgent', flow), undefined],
  ['a node of one of two workflows', 'trim', agent('root', 'LlmAgent', flow, agent('other', 'Workflow')), undefined],
  ['an unknown author', 'app', agent('root'), undefined],
])('the workflow of %s', (_, author, root, expected) => {
  expect(workflowOf(author, root)).toBe(expected);
});
