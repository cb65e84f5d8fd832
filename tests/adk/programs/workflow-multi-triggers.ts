import { createEvent, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const a = node(() => 'a', { name: 'a' });
const b = node(() => 'b', { name: 'b' });
const log = node(
  (_context: NodeContext, input: string) =>
    createEvent({ content: { role: 'model', parts: [{ text: `triggered by ${input}` }] } }),
  { name: 'log' },
);
const twice = new Workflow({ name: 'twice', edges: [['START', [a, b], log]] });

const one = node(() => 'one', { name: 'one' });
const two = node(() => 'two', { name: 'two' });
const clash = new Workflow({ name: 'clash', edges: [['START', [one, two]]], maxConcurrency: 1 });

const isolated = new LlmAgent({
  name: 'isolated',
  model: 'gemini-flash-latest',
  instruction: 'Answer.',
  includeContents: 'default',
});
const seen = new Workflow({ name: 'seen', edges: [['START', a, isolated]] });

const program: Program = {
  replies: ['fine', 'still fine'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, twice, ['Go.']);
    try {
      await converse(tell, clash, ['Go.']);
    } catch (error) {
      tell(`failed: ${(error as Error).message.includes('multiple terminal nodes')}`);
    }
    await converse(tell, seen, ['Go.', 'And?']);
  },
};
export default program;
