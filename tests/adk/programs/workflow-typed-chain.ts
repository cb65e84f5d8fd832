import { createEvent, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const topicSchema = z.object({ title: z.string().describe('The title.'), category: z.string() });
const prepare = node((_context: NodeContext, text: string) => `Topic: ${text}`, { name: 'prepare' });
const wrap = node((_context: NodeContext, text: string) => createEvent({ output: `[${text}]` }), { name: 'wrap' });
const inventor = new LlmAgent({ name: 'inventor', model, instruction: 'Invent a topic.', outputSchema: topicSchema });
const consume = node(
  (_context: NodeContext, { title, category }: z.infer<typeof topicSchema>) => `${title} (${category})`,
  { name: 'consume', inputSchema: topicSchema },
);
const typed = new Workflow({ name: 'typed', edges: [['START', prepare, wrap, inventor, consume]] });

const fruit = new LlmAgent({ name: 'fruit', model, instruction: 'Name a fruit.' });
const benefit = new LlmAgent({ name: 'benefit', model, instruction: 'Praise the fruit.' });
const inOrder = new Workflow({ name: 'in_order', edges: [['START', fruit, benefit]] });

const city = z.object({ city: z.string(), time: z.string() });
const emit = node(
  async function* () {
    yield createEvent({ output: { city: 'Paris', time: '10:10' } satisfies z.infer<typeof city> });
  },
  { name: 'emit', outputSchema: city },
);
const report = node((_context: NodeContext, at: z.infer<typeof city>) => `${at.time} in ${at.city}`, {
  name: 'report',
  inputSchema: city,
});
const structured = new Workflow({ name: 'structured', edges: [['START', emit, report]] });

const program: Program = {
  replies: ['{"title":"Neon","category":"style"}', 'Pear', 'Pears are juicy.'].map((text) =>
    jsonReply(wireResponse(text)),
  ),
  async main(tell) {
    await converse(tell, typed, ['future']);
    await converse(tell, inOrder, ['go']);
    await converse(tell, structured, ['go']);
  },
};
export default program;
