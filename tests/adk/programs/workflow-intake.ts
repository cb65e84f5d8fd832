import { createEvent, DEFAULT_ROUTE, FunctionTool, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const guest = z.object({ name: z.string(), phone: z.string() });
const reception = new LlmAgent({
  name: 'reception',
  model,
  mode: 'task',
  outputSchema: guest,
  instruction: 'Find out the name and the phone number.',
});
const say = (text: string) => ({ role: 'model', parts: [{ text }] });
const check = node(
  function* (_context: NodeContext, { name }: z.infer<typeof guest>) {
    if (name === 'Ann') yield createEvent({ content: say(`Hello ${name}.`) });
    else yield createEvent({ content: say(`There is no ${name}.`), route: 'again' });
  },
  { name: 'check', inputSchema: guest },
);
const findBookings = new FunctionTool({
  name: 'find_bookings',
  description: 'Finds bookings.',
  execute: () => ['Room 12', 'Table 3'],
});
const concierge = new LlmAgent({ name: 'concierge', model, tools: [findBookings], instruction: 'List the bookings.' });
const rootAgent = new Workflow({
  name: 'intake',
  edges: [
    ['START', reception, check],
    [check, { again: reception, [DEFAULT_ROUTE]: node(concierge, { rerunOnResume: true }) }],
  ],
});
const finish = (name: string) =>
  jsonReply(wireResponse({ calls: [{ name: 'finish_task', args: { name, phone: '555' } }] }));

const program: Program = {
  replies: [
    finish('Bob'),
    finish('Ann'),
    jsonReply(wireResponse({ calls: [{ name: 'find_bookings', args: {} }] })),
    jsonReply(wireResponse('Room 12 and table 3.')),
  ],
  main: (tell) => converse(tell, rootAgent, ['I am Bob, 555. No: Ann.']),
};
export default program;
