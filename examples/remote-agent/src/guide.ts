import { RemoteA2AAgent } from '@eventloom/a2a';
import { type BaseLlm, LlmAgent } from 'eventloom';

/** Creates an agent that transfers questions about rooms to the agent at an address. */
export function createGuide(hotelAddress: string, token: string, model: string | BaseLlm): LlmAgent {
  const hotel = new RemoteA2AAgent({
    name: 'hotel',
    description: 'Finds and books rooms of the Hotel Lisboa.',
    agentCard: hotelAddress,
    headers: { authorization: `Bearer ${token}` },
  });
  return new LlmAgent({
    name: 'guide',
    model,
    instruction: 'You help travellers in Lisbon. The hotel answers everything about rooms.',
    subAgents: [hotel],
  });
}
