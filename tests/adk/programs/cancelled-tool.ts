import { FunctionTool, getLogger, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const logger = getLogger();

const program: Program = {
  replies: [jsonReply(wireResponse({ calls: [{ name: 'count', args: { target: 3 } }] }))],
  async main(tell) {
    const abort = new AbortController();
    const count = new FunctionTool({
      name: 'count',
      description: 'Counts slowly.',
      parameters: z.object({ target: z.number().int() }),
      execute: async ({ target }, toolContext) => {
        logger.info(`counting to ${target}`);
        const ended = new Promise<never>((_resolve, reject) => {
          toolContext?.abortSignal?.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
        });
        abort.abort();
        try {
          return await ended;
        } catch (error) {
          tell('the tool was interrupted');
          throw error;
        }
      },
    });
    const agent = new LlmAgent({
      name: 'counter',
      model: 'gemini-flash-latest',
      instruction: 'Count.',
      tools: [count],
    });
    const runner = new InMemoryRunner({ agent, appName: 'counting' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'counting', userId: 'ann' });
    const newMessage = createUserContent('Count to 3.');
    const run = runner.runAsync({ userId: 'ann', sessionId, newMessage, abortSignal: abort.signal });
    for await (const event of run) tell(event);
    tell('ended');
  },
};
export default program;
