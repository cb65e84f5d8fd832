import { FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const abort = new AbortController();
const work = new FunctionTool({
  name: 'work',
  description: 'Works.',
  parameters: z.object({}),
  execute: (_args, toolContext) => ({ hasSignal: toolContext?.abortSignal !== undefined }),
});
const agent = new LlmAgent({ name: 'worker', model: 'gemini-2.5-flash', instruction: 'Work.', tools: [work] });

const program: Program = {
  replies: [jsonReply(wireResponse({ calls: [{ name: 'work', args: {} }] }))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'work' });
    const session = await runner.sessionService.createSession({ appName: 'work', userId: 'ann' });
    const newMessage = createUserContent('Work!');
    for await (const event of runner.runAsync({
      userId: 'ann',
      sessionId: session.id,
      newMessage,
      abortSignal: abort.signal,
    })) {
      tell(event);
      if (event.content?.parts?.[0]?.functionResponse) abort.abort();
    }
    tell('ended');
  },
};
export default program;
