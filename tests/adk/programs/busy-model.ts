import { InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { errorReply, jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest', instruction: 'Help.' });

const program: Program = {
  replies: [
    errorReply({ code: 503, status: 'UNAVAILABLE' }),
    errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED' }),
    jsonReply(wireResponse('Here I am.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'busy' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'busy', userId: 'ann' });
    for (const text of ['One?', 'Two?', 'Three?'])
      try {
        const newMessage = createUserContent(text);
        for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      } catch {
        tell('the run failed');
      }
  },
};
export default program;
