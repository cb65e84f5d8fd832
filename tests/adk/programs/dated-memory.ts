import {
  InMemoryMemoryService,
  InMemorySessionService,
  LlmAgent,
  LOAD_MEMORY,
  PRELOAD_MEMORY,
  Runner,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const agent = new LlmAgent({
  name: 'diary',
  model: 'gemini-flash-latest',
  description: 'Remembers what was said.',
  instruction: 'Answer questions. Today is {_today}.',
  beforeAgentCallback: ({ state }) => {
    state.set('_today', 'Monday');
    return undefined;
  },
  tools: [LOAD_MEMORY, PRELOAD_MEMORY],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse('Noted.')),
    jsonReply(wireResponse({ calls: [{ name: 'load_memory', args: { query: 'nothing' } }] })),
    jsonReply(wireResponse('You play chess.')),
  ],
  async main(tell) {
    const sessionService = new InMemorySessionService();
    const memoryService = new InMemoryMemoryService();
    const runner = new Runner({ agent, appName: 'diary', sessionService, memoryService });
    for (const [sessionId, text] of [
      ['monday', 'I play chess.'],
      ['tuesday', 'What do I play?'],
    ] as const) {
      await sessionService.createSession({ appName: 'diary', userId: 'ann', sessionId });
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent(text) }))
        tell(event);
      const session = await sessionService.getSession({ appName: 'diary', userId: 'ann', sessionId });
      tell({ state: session?.state });
      if (session) await memoryService.addSessionToMemory(session);
    }
  },
};
export default program;
