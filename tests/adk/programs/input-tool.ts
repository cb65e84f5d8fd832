import { FunctionTool, LlmAgent, requestInputTool } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const createTicket = new FunctionTool({
  name: 'create_ticket',
  description: 'Creates a ticket.',
  parameters: z.object({ ticket: z.object({ title: z.string(), priority: z.string().default('MEDIUM') }) }),
  execute: ({ ticket }) => ({ status: 'success', title: ticket.title, priority: ticket.priority }),
});
const agent = new LlmAgent({
  name: 'support',
  model: 'gemini-flash-latest',
  instruction: 'Ask for what is missing.',
  tools: [createTicket, requestInputTool],
  generateContentConfig: { temperature: 0.1 },
});

const response_schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] };
const program: Program = {
  replies: [
    jsonReply(
      wireResponse({ calls: [{ name: 'adk_request_input', args: { message: 'Which title?', response_schema } }] }),
    ),
    jsonReply(wireResponse({ calls: [{ name: 'create_ticket', args: { ticket: { title: 'Printer' } } }] })),
    jsonReply(wireResponse('The ticket is created.')),
  ],
  main: (tell) => converse(tell, agent, ['Create a ticket.', { answer: { title: 'Printer' } }]),
};
export default program;
