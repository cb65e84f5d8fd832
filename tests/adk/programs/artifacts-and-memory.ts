import {
  FunctionTool,
  InMemoryArtifactService,
  InMemoryMemoryService,
  InMemorySessionService,
  LlmAgent,
  LOAD_MEMORY,
  Runner,
} from '@google/adk';
import { createPartFromText, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const saveNote = new FunctionTool({
  name: 'save_note',
  description: 'Saves a note.',
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }, toolContext) => {
    const version = await toolContext?.saveArtifact('note.txt', createPartFromText(text));
    const loaded = await toolContext?.loadArtifact('note.txt');
    return { version, text: loaded?.text, all: await toolContext?.listArtifacts() };
  },
});

const agent = new LlmAgent({
  name: 'keeper',
  model: 'gemini-2.5-flash',
  instruction: 'Keep notes.',
  tools: [saveNote, LOAD_MEMORY],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'save_note', args: { text: 'Alpha is the project.' } }] })),
    jsonReply(wireResponse('My favorite project is Project Alpha.')),
    jsonReply(wireResponse({ calls: [{ name: 'load_memory', args: { query: 'Alpha' } }] })),
    jsonReply(wireResponse('It is Alpha.')),
  ],
  async main(tell) {
    const sessionService = new InMemorySessionService();
    const memoryService = new InMemoryMemoryService();
    const artifactService = new InMemoryArtifactService();
    const runner = new Runner({ agent, appName: 'notes', sessionService, memoryService, artifactService });
    for (const sessionId of ['one', 'two']) {
      await sessionService.createSession({ appName: 'notes', userId: 'ann', sessionId });
      const newMessage = createUserContent('What is my favorite project?');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        const isMemory = event.content?.parts?.some((part) => part.functionResponse?.name === 'load_memory');
        tell(isMemory ? `memory: ${JSON.stringify(event.content).includes('Project Alpha')}` : event);
      }
      const session = await sessionService.getSession({ appName: 'notes', userId: 'ann', sessionId });
      if (session) await memoryService.addSessionToMemory(session);
    }
    tell(await artifactService.listArtifactKeys({ appName: 'notes', userId: 'ann', sessionId: 'one' }));
  },
};
export default program;
