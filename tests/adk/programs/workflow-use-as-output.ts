import { LlmAgent, node, type NodeContext, START, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const summarizer = new LlmAgent({ name: 'summarizer', model: 'gemini-flash-latest', instruction: 'Sum it up.' });
const orchestrate = node(
  async (context: NodeContext, text: string) => (await context.runNode(summarizer, text, { useAsOutput: true })).output,
  { name: 'orchestrate', rerunOnResume: true },
);
const finalize = node((_context: NodeContext, text: string) => `final: ${text}`, { name: 'finalize' });
const rootAgent = new Workflow({ name: 'sums', edges: [[START, orchestrate, finalize]] });

const program: Program = {
  replies: [jsonReply(wireResponse('Short.'))],
  main: (tell) => converse(tell, rootAgent, ['A long text.']),
};
export default program;
