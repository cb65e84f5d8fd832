import {
  BaseTool,
  InMemoryMemoryService,
  InMemorySessionService,
  LlmAgent,
  LOAD_MEMORY,
  PRELOAD_MEMORY,
  type RunAsyncToolRequest,
  Runner,
  type SingleAgentCallback,
} from '@google/adk';
import { createUserContent, type FunctionDeclaration, Type } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** A tool of its own class, which searches the memory. */
class Recall extends BaseTool {
  constructor() {
    super({ name: 'recall', description: 'Searches the memory.' });
  }

  override _getDeclaration(): FunctionDeclaration {
    const { name, description } = this;
    const parameters = { type: Type.OBJECT, properties: { query: { type: Type.STRING } }, required: ['query'] };
    return { name, description, parameters };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const { memories } = await toolContext.searchMemory(args['query'] as string);
    return { memories: memories.map(({ content }) => content.parts?.map(({ text }) => text).join(' ')).join('\n') };
  }
}

const saveToMemory: SingleAgentCallback = async (callbackContext) => {
  if (callbackContext.invocationContext.memoryService)
    await callbackContext.invocationContext.memoryService.addSessionToMemory(callbackContext.invocationContext.session);
};

const model = 'gemini-flash-latest';
const listener = new LlmAgent({ model, name: 'listener', instruction: 'Listen.' });
const recaller = new LlmAgent({ model, name: 'recaller', instruction: 'Recall.', tools: [LOAD_MEMORY, new Recall()] });
const saver = new LlmAgent({
  model,
  name: 'saver',
  instruction: 'Answer.',
  tools: [PRELOAD_MEMORY],
  afterAgentCallback: saveToMemory,
});

const program: Program = {
  replies: [
    jsonReply(wireResponse('I see.')),
    jsonReply(wireResponse({ calls: [{ name: 'load_memory', args: { query: 'project' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'recall', args: { query: 'favorite project' } }] })),
    jsonReply(wireResponse('It is Alpha.')),
    jsonReply(wireResponse('It is Alpha, I think.')),
  ],
  async main(tell) {
    const appName = 'memories';
    const userId = 'ann';
    const sessionService = new InMemorySessionService();
    const memoryService = new InMemoryMemoryService();
    const turns = [
      [listener, 'info', 'My favorite project is Alpha.'],
      [recaller, 'recall', 'What is my favorite project?'],
      [saver, 'saved', 'Which project?'],
    ] as const;
    for (const [agent, sessionId, text] of turns) {
      const runner = new Runner({ agent, appName, sessionService, memoryService });
      await sessionService.createSession({ appName, userId, sessionId });
      for await (const event of runner.runAsync({ userId, sessionId, newMessage: createUserContent(text) }))
        tell(event);
      const session = await sessionService.getSession({ appName, userId, sessionId });
      if (session && agent === listener) await memoryService.addSessionToMemory(session);
    }
    const { memories } = await memoryService.searchMemory({ appName, userId, query: 'project' });
    tell(memories.map(({ author, content }) => `${author}: ${content.parts?.[0]?.text}`).toSorted());
  },
};
export default program;
