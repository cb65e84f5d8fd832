import { createEvent, LlmAgent, node, type NodeContext, SequentialAgent, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const trim = node((_context: NodeContext, text: string) => text.trim(), { name: 'trim' });
const router = node(
  (_context: NodeContext, text: string) =>
    createEvent({ route: text === text.toUpperCase() ? 'LOUD' : 'QUIET', output: text }),
  { name: 'router' },
);

const quiet = new Workflow({
  name: 'quiet',
  edges: [
    [
      'START',
      node((_context: NodeContext, text: string) => text.toUpperCase(), { name: 'raise' }),
      node((_context: NodeContext, text: string) => `[quiet] ${text}`, { name: 'frame_quiet' }),
    ],
  ],
});
const loud = new Workflow({
  name: 'loud',
  edges: [
    [
      'START',
      node((_context: NodeContext, text: string) => text.toLowerCase(), { name: 'lower' }),
      new LlmAgent({ name: 'calm', model, instruction: 'Calm down.' }),
    ],
  ],
});

const parent = new Workflow({
  name: 'parent',
  edges: [
    ['START', trim, router],
    [router, { QUIET: quiet, LOUD: loud }],
  ],
});

const steps = new SequentialAgent({
  name: 'steps',
  subAgents: [
    new LlmAgent({ name: 'one', model, instruction: 'One.' }),
    new LlmAgent({ name: 'two', model, instruction: 'Two.' }),
  ],
});
const after = node((_context: NodeContext, input: unknown) => `after: ${String(input)}`, { name: 'after' });
const withAgents = new Workflow({ name: 'with_agents', edges: [['START', steps, after]] });

const program: Program = {
  replies: ['calm now', 'first', 'second'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, parent, [' hello ', 'HELLO']);
    await converse(tell, withAgents, ['Go.']);
  },
};
export default program;
