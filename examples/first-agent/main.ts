import { InMemoryRunner, isFinalResponse, stringifyContent } from 'eventloom';
import { rootAgent } from './agent.ts';

const { GEMINI_API_KEY = '' } = process.env;
const runner = new InMemoryRunner({ agent: rootAgent, gemini: { apiKey: GEMINI_API_KEY }, autoCreateSession: true });
const newMessage = process.argv[2] ?? 'What can you do?';

for await (const event of runner.runAsync({ userId: 'ann', sessionId: 'first', newMessage })) {
  if (isFinalResponse(event) && event.content) console.log(stringifyContent(event));
}
