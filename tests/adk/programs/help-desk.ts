import { LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

// Both use the model of their parent.
const billing = new LlmAgent({ name: 'Billing', description: 'Answers questions about payments.' });
const support = new LlmAgent({ name: 'Support', description: 'Solves technical problems.' });
const coordinator = new LlmAgent({
  name: 'HelpDesk',
  model: 'gemini-flash-latest',
  description: 'Routes requests.',
  instruction: 'Payments go to Billing, problems to Support.',
  subAgents: [billing, support],
});

const transfer = (agentName: string) =>
  jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName } }] }));
const program: Program = {
  replies: [
    transfer('Billing'),
    jsonReply(wireResponse('The card has expired.')),
    transfer('Support'),
    jsonReply(wireResponse('Reset your password.')),
    transfer('HelpDesk'),
    jsonReply(wireResponse('You are welcome.')),
  ],
  main: (tell) => converse(tell, coordinator, ['My payment failed.', 'I cannot log in.', 'Thanks.']),
};
export default program;
