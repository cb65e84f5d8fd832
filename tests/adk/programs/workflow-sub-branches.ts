import { createEvent, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const writer = new LlmAgent({ name: 'writer', model: 'gemini-flash-latest', instruction: 'Write a headline.' });
const say = (text: string) => createEvent({ content: { role: 'model', parts: [{ text }] } });

const editor = node(
  async function* (context: NodeContext, text: string) {
    const topics = text.split(',').map((topic) => topic.trim());
    yield say(`${topics.length} topics.`);
    const results = [];
    // One after the other, so that the replies of the scripted model come in order.
    for (const topic of topics) results.push(await context.runNode(writer, topic, { useSubBranch: true }));
    yield say(results.map(({ output }, at) => `${topics[at]}: ${String(output)}`).join('\n'));
  },
  { name: 'editor', rerunOnResume: true },
);
const square = node((_context: NodeContext, value: number) => value * value, { name: 'square' });
const squares = new Workflow({
  name: 'squares',
  dynamicEntry: async (context) => {
    const results = await Promise.all([1, 2, 3].map((n, at) => context.runNode(square, n, { runId: `square-${at}` })));
    const found = results.map(({ output }) => Number(output));
    return `${found.join(', ')}: ${found.reduce((sum, each) => sum + each, 0)}`;
  },
});

const program: Program = {
  replies: ['Rain again', 'Sun at last'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, new Workflow({ name: 'paper', edges: [['START', editor]] }), ['rain, sun']);
    await converse(tell, squares, ['Square them.']);
  },
};
export default program;
