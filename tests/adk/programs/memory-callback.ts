import {
  InMemoryMemoryService,
  InMemorySessionService,
  LlmAgent,
  PRELOAD_MEMORY,
  Runner,
  type SingleAgentCallback,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const remember: SingleAgentCallback = async ({ invocationContext }) => {
  await invocationContext.memoryService?.addSessionToMemory(invocationContext.session);
  return undefined;
};
const agent = new LlmAgent({
  name: 'butler',
  model: 'gemini-flash-latest',
  instruction: 'Answer questions.',
  tools: [PRELOAD_MEMORY],
  afterAgentCallback: remember,
});

const program: Program = {
  replies: [jsonReply(wireResponse('Noted.')), jsonReply(wireResponse('Your tea is green.'))],
  async main(tell) {
    const sessionService = new InMemorySessionService();
    const memoryService = new InMemoryMemoryService();
    const runner = new Runner({ agent, appName: 'house', sessionService, memoryService });
    for (const [sessionId, text] of [
      ['one', 'My tea is green.'],
      ['two', 'Which tea do I like?'],
    ] as const) {
      await sessionService.createSession({ appName: 'house', userId: 'ann', sessionId });
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent(text) }))
        tell(event);
    }
    const { memories } = await memoryService.searchMemory({ appName: 'house', userId: 'ann', query: 'tea' });
    tell(memories.map(({ content }) => content.parts?.[0]?.text ?? '').toSorted());
  },
};
export default program;
