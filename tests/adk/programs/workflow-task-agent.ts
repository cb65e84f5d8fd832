import { LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const booker = new LlmAgent({
  name: 'booker',
  model: 'gemini-flash-latest',
  mode: 'task',
  instruction: 'Find out the city, then finish.',
  outputSchema: z.object({ city: z.string() }),
  outputKey: 'booked',
});
const confirm = node((_context: NodeContext, { city }: { city: string }) => `Booked for ${city}.`, { name: 'confirm' });
const rootAgent = new Workflow({ name: 'booking', edges: [['START', booker, confirm]] });

const program: Program = {
  replies: [jsonReply(wireResponse({ calls: [{ name: 'finish_task', args: { city: 'Rome' } }] }))],
  main: (tell) => converse(tell, rootAgent, ['Rome, please.']),
};
export default program;
