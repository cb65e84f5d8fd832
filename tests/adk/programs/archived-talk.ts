import {
  createEvent,
  FunctionTool,
  InMemoryMemoryService,
  InMemorySessionService,
  LlmAgent,
  Runner,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const memoryService = new InMemoryMemoryService();

const searchArchive = new FunctionTool({
  name: 'search_archive',
  description: 'Searches the archive.',
  parameters: z.object({ query: z.string() }),
  execute: async ({ query }) => {
    const { memories } = await memoryService.searchMemory({ appName: 'archive', userId: 'ann', query });
    return { matches: memories.map(({ author, content }) => `${author}: ${content.parts?.[0]?.text}`).toSorted() };
  },
});
const agent = new LlmAgent({
  name: 'archivist',
  model: 'gemini-flash-latest',
  instruction: 'Search first.',
  tools: [searchArchive],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'search_archive', args: { query: 'hotel' } }] })),
    jsonReply(wireResponse('The hotel is the Rossio.')),
  ],
  async main(tell) {
    const runner = new Runner({
      appName: 'archive',
      agent,
      sessionService: new InMemorySessionService(),
      memoryService,
    });
    const session = await runner.sessionService.createSession({ appName: 'archive', userId: 'ann' });
    const turns = [
      ['user', 'Which hotel?'],
      ['guide', 'The hotel is called Rossio.'],
    ] as const;
    for (const [author, text] of turns) {
      const event = createEvent({ author, content: { role: author === 'user' ? 'user' : 'model', parts: [{ text }] } });
      await runner.sessionService.appendEvent({ session, event });
    }
    tell({ events: session.events.length });
    await memoryService.addSessionToMemory(session);
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'archive', userId: 'ann' });
    const newMessage = createUserContent('Which hotel was it?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
  },
};
export default program;
