import { LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const clerk = new LlmAgent({ name: 'clerk', model, description: 'Answers.', instruction: 'Answer.' });
const desk = new LlmAgent({
  name: 'desk',
  model,
  description: 'Forwards.',
  instruction: 'Forward.',
  subAgents: [clerk],
});
const agent = new LlmAgent({ name: 'hotel', model, instruction: 'Forward.', subAgents: [desk] });
const transfer = (agentName: string) =>
  jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName } }] }));

const program: Program = {
  replies: [
    transfer('desk'),
    transfer('clerk'),
    jsonReply(wireResponse('Room 12.')),
    jsonReply(wireResponse('Still 12.')),
    transfer('desk'),
    jsonReply(wireResponse('The desk is here.')),
  ],
  main: (tell) => converse(tell, agent, ['My room?', 'And now?', 'The desk, please.']),
};
export default program;
