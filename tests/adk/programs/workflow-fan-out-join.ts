import { JoinNode, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const upper = node((_context: NodeContext, text: string) => text.toUpperCase(), { name: 'upper' });
const length = node((_context: NodeContext, text: string) => text.length, { name: 'length' });
const reversed = node((_context: NodeContext, text: string) => text.split('').reverse().join(''), { name: 'reversed' });
const join = new JoinNode({ name: 'join' });
const show = node((_context: NodeContext, results: Record<string, unknown>) => JSON.stringify(results), {
  name: 'show',
});

const rows = new Workflow({
  name: 'rows',
  edges: [
    ['START', upper, join],
    ['START', length, join],
    ['START', reversed, join],
    [join, show],
  ],
});
const short = new Workflow({ name: 'short', edges: [['START', [upper, length, reversed], join, show]] });

const model = 'gemini-flash-latest';
const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write about it.' });
const counted = node((_context: NodeContext, text: string) => text.length, { name: 'counted' });
const both = new JoinNode({ name: 'both' });
const editor = new LlmAgent({ name: 'editor', model, instruction: 'Join it.' });
const withAgents = new Workflow({ name: 'with_agents', edges: [['START', [writer, counted], both, editor]] });

const program: Program = {
  replies: [jsonReply(wireResponse('Rivers flow.')), jsonReply(wireResponse('Rivers flow, 6.'))],
  async main(tell) {
    await converse(tell, rows, ['hello']);
    await converse(tell, short, ['world']);
    await converse(tell, withAgents, ['rivers']);
  },
};
export default program;
