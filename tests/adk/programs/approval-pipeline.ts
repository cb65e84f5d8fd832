import { FunctionTool, LlmAgent, SequentialAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';

async function askSomebody(params: { amount: number; reason: string }): Promise<{ decision: string }> {
  return { decision: params.amount > 100 ? 'rejected' : 'approved' };
}
const approval = new FunctionTool({
  name: 'external_approval_tool',
  description: 'Sends a request to a person.',
  parameters: z.object({ amount: z.number(), reason: z.string() }),
  execute: askSomebody,
});
const prepare = new LlmAgent({
  name: 'Prepare',
  model,
  instruction: 'Prepare the request.',
  outputKey: 'request',
});
const request = new LlmAgent({
  name: 'Request',
  model,
  instruction: 'Send {request}.',
  tools: [approval],
  outputKey: 'human_decision',
});
const proceed = new LlmAgent({ name: 'Proceed', model, instruction: 'Look at {human_decision}, and proceed.' });
const workflow = new SequentialAgent({ name: 'Approval', subAgents: [prepare, request, proceed] });

const program: Program = {
  replies: [
    jsonReply(wireResponse('250 for a chair.')),
    jsonReply(wireResponse({ calls: [{ name: 'external_approval_tool', args: { amount: 250, reason: 'a chair' } }] })),
    jsonReply(wireResponse('rejected')),
    ({ body }) => jsonReply(wireResponse(JSON.stringify(body).includes('Look at rejected') ? 'No chair.' : '?')),
  ],
  main: (tell) => converse(tell, workflow, ['A chair, please.']),
};
export default program;
