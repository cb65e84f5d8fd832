import { InMemoryRunner, isFinalResponse, LlmAgent, SequentialAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const agent = new SequentialAgent({
  name: 'pair',
  subAgents: [
    new LlmAgent({ name: 'first', model, instruction: 'Begin.', outputKey: 'first' }),
    new LlmAgent({ name: 'second', model, instruction: 'Continue {first}.', outputKey: 'second' }),
  ],
});

const program: Program = {
  replies: ['One.', 'Two.', 'Three.'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'pairs' });
    const key = { appName: 'pairs', userId: 'ann', sessionId: 's' };
    await runner.sessionService.createSession(key);
    for (const stopsAfter of ['first', 'second']) {
      for await (const event of runner.runAsync({
        userId: 'ann',
        sessionId: 's',
        newMessage: createUserContent('Go.'),
      })) {
        tell(event);
        if (isFinalResponse(event) && event.author === stopsAfter) break;
      }
      const session = await runner.sessionService.getSession(key);
      tell({ state: { ...session?.state }, authors: session?.events.map(({ author }) => author) });
    }
  },
};
export default program;
