import { InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const greeter = new LlmAgent({ name: 'Greeter', model, description: 'Says hello.', instruction: 'Say hello.' });
const booker = new LlmAgent({ name: 'Booker', model, description: 'Books flights.', instruction: 'Book flights.' });
const agent = new LlmAgent({ name: 'Coordinator', model, instruction: 'Delegate.', subAgents: [greeter, booker] });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'Booker' } }] })),
    jsonReply(wireResponse('Where to?')),
    jsonReply(wireResponse('Booked.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'travel' });
    const session = await runner.sessionService.createSession({ appName: 'travel', userId: 'ann' });
    for (const text of ['Book a flight.', 'To Oslo.'])
      for await (const event of runner.runAsync({
        userId: 'ann',
        sessionId: session.id,
        newMessage: createUserContent(text),
      }))
        tell(event);
  },
};
export default program;
