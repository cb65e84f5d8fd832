import { createEvent, DEFAULT_ROUTE, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const categorySchema = z.object({ category: z.enum(['question', 'statement', 'other']) });
const keep = node((context: NodeContext, text: string) => context.state.set('input', text), { name: 'keep' });
const classify = new LlmAgent({
  name: 'classify',
  model,
  instruction: 'Classify: {input}',
  outputSchema: categorySchema,
  outputKey: 'category',
});
const route = node(
  function* (_context: NodeContext, { category }: z.infer<typeof categorySchema>) {
    yield createEvent({ route: category });
  },
  { name: 'route' },
);
const answer = new LlmAgent({ name: 'answer', model, instruction: 'Answer: {input}' });
const comment = new LlmAgent({ name: 'comment', model, instruction: 'Comment: {input}' });
const other = node(
  function* () {
    yield createEvent({ content: { role: 'model', parts: [{ text: 'I only talk.' }] } });
  },
  { name: 'other' },
);
const rootAgent = new Workflow({
  name: 'categories',
  edges: [
    ['START', keep, classify, route],
    [route, { question: answer, statement: comment, other }],
  ],
});
const router = node(
  (_context: NodeContext, text: string) => createEvent({ route: /crash/.test(text) ? 'BUG' : 'OTHER', output: text }),
  { name: 'router' },
);
const bug = node((_context: NodeContext, text: string) => `Filed: ${text}`, { name: 'bug' });
const rest = node((_context: NodeContext, text: string) => `Ignored: ${text}`, { name: 'rest' });
const support = new Workflow({
  name: 'support',
  edges: [
    ['START', router],
    [router, { BUG: bug, [DEFAULT_ROUTE]: rest }],
  ],
});
const category = (name: string) => jsonReply(wireResponse(JSON.stringify({ category: name })));

const program: Program = {
  replies: [
    category('question'),
    jsonReply(wireResponse('Paris.')),
    category('statement'),
    jsonReply(wireResponse('Indeed.')),
    category('other'),
  ],
  async main(tell) {
    await converse(tell, rootAgent, ['The capital?', 'Nice weather.', 'Bonjour']);
    await converse(tell, support, ['It had a crash.', 'Where is it?']);
  },
};
export default program;
