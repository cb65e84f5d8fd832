import { FunctionTool, GOOGLE_SEARCH, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const personSchema = z.object({ name: z.string().describe('The name.'), age: z.number().int().describe('The age.') });
const year = new FunctionTool({ name: 'year', description: 'Gives the year.', execute: () => '2026' });
const searcher = new LlmAgent({
  name: 'searcher',
  model,
  description: 'Searches for people.',
  instruction: 'Search.',
  tools: [GOOGLE_SEARCH],
  outputSchema: personSchema,
});
const agent = new LlmAgent({
  name: 'biographer',
  model,
  instruction: 'Describe people.',
  outputSchema: personSchema,
  tools: [year],
  subAgents: [searcher],
});
const ann = { name: 'Ann', age: 40 };

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'year', args: {} }] })),
    (request) =>
      jsonReply(
        wireResponse(
          JSON.stringify(request.body).includes('set_model_response')
            ? { calls: [{ name: 'set_model_response', args: ann }] }
            : JSON.stringify(ann),
        ),
      ),
    jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'searcher' } }] })),
    (request) =>
      jsonReply(
        wireResponse(
          JSON.stringify(request.body).includes('set_model_response')
            ? { calls: [{ name: 'set_model_response', args: ann }] }
            : JSON.stringify(ann),
        ),
      ),
  ],
  main: (tell) => converse(tell, agent, ['Who is Ann?', 'Search for her.']),
};
export default program;
