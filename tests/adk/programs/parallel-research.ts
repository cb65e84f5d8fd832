import {
  type Event,
  GOOGLE_SEARCH,
  InMemoryRunner,
  isFinalResponse,
  LlmAgent,
  ParallelAgent,
  SequentialAgent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const researcher = (name: string, outputKey: string): LlmAgent =>
  new LlmAgent({ name, model, instruction: `Research ${name}.`, tools: [GOOGLE_SEARCH], outputKey });
const research = new ParallelAgent({
  name: 'Research',
  subAgents: [researcher('Wind', 'wind'), researcher('Sun', 'sun')],
});
const merger = new LlmAgent({ name: 'Merger', model, instruction: 'Merge {wind} and {sun}.' });
const agent = new SequentialAgent({ name: 'Pipeline', subAgents: [research, merger] });

const program: Program = {
  replies: [
    jsonReply(wireResponse('It blows or shines.')),
    jsonReply(wireResponse('It blows or shines.')),
    jsonReply(wireResponse('Both.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'energy' });
    const session = await runner.sessionService.createSession({ appName: 'energy', userId: 'ann' });
    const newMessage = createUserContent('Summarize.');
    const events: Event[] = [];
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) events.push(event);
    // Concurrent agents answer in any order.
    for (const event of events.toSorted((one, other) => ((one.branch ?? 'x') < (other.branch ?? 'x') ? -1 : 1)))
      tell(isFinalResponse(event) ? { final: event.content } : event);
  },
};
export default program;
