import { createEvent, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { Type } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const explanation = z.object({ topic: z.string(), text: z.string() });
const keep = node((_context: NodeContext, topic: string) => createEvent({ actions: { stateDelta: { topic } } }), {
  name: 'keep',
});
const related = new LlmAgent({
  name: 'related',
  model,
  instruction: 'List topics that are related to {topic}.',
  outputSchema: { type: Type.ARRAY, items: { type: Type.STRING } },
});
const raise = node(
  function* (_context: NodeContext, topic: string) {
    yield topic.toUpperCase();
  },
  { name: 'raise', parallelWorker: true },
);
const explain = node(
  new LlmAgent({ name: 'explain', model, instruction: 'Explain it beside {topic}.', outputSchema: explanation }),
  { parallelWorker: true, maxParallelWorkers: 1 },
);
const aggregate = node(
  (_context: NodeContext, all: z.infer<typeof explanation>[]) =>
    createEvent({
      content: { role: 'model', parts: [{ text: all.map(({ topic, text }) => `${topic}: ${text}`).join('\n') }] },
    }),
  { name: 'aggregate' },
);
const rootAgent = new Workflow({ name: 'topics', edges: [['START', keep, related, raise, explain, aggregate]] });

const program: Program = {
  replies: ['["rose","tulip"]', '{"topic":"ROSE","text":"red"}', '{"topic":"TULIP","text":"Dutch"}'].map((text) =>
    jsonReply(wireResponse(text)),
  ),
  main: (tell) => converse(tell, rootAgent, ['flower']),
};
export default program;
