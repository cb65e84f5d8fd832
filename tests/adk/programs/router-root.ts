import { isRoutableLlmAgent, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';

/** A root that gets every message of the user, because it may not transfer to a parent. */
const router = new LlmAgent({
  name: 'router',
  model,
  instruction: 'Transfer each question to the agent that knows the answer.',
  disallowTransferToParent: true,
  subAgents: [
    new LlmAgent({ name: 'orders', model, description: 'Knows orders.' }),
    new LlmAgent({ name: 'returns', model, description: 'Knows returns.' }),
  ],
});

const transferTo = (agent: string) =>
  jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agent_name: agent, agentName: agent } }] }));

const program: Program = {
  replies: [
    transferTo('orders'),
    jsonReply(wireResponse('It arrives today.')),
    transferTo('returns'),
    jsonReply(wireResponse('Send it back within a week.')),
  ],
  async main(tell) {
    tell({ routable: router.subAgents.map((agent) => isRoutableLlmAgent(agent)) });
    await converse(tell, router, ['Where is my order?', 'And if it does not fit?']);
  },
};
export default program;
