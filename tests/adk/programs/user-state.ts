import { FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const setPreference = new FunctionTool({
  name: 'set_preference',
  description: 'Sets a preference of the user.',
  parameters: z.object({ preference: z.string(), value: z.string() }),
  execute: async ({ preference, value }, toolContext) => {
    const preferences = toolContext?.state.get<Record<string, string>>('user:preferences', {}) ?? {};
    preferences[preference] = value;
    toolContext?.state.set('user:preferences', preferences);
    toolContext?.state.set('temp:last', preference);
    return `${preference} = ${value}`;
  },
});

const agent = new LlmAgent({
  name: 'preferences',
  model: 'gemini-2.5-flash',
  instruction: 'Keep preferences: {user:preferences?}',
  tools: [setPreference],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'set_preference', args: { preference: 'theme', value: 'dark' } }] })),
    jsonReply(wireResponse('It is dark.')),
    jsonReply(wireResponse('It was dark.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'settings' });
    for (const sessionId of ['one', 'two']) {
      await runner.sessionService.createSession({ appName: 'settings', userId: 'ann', sessionId });
      const newMessage = createUserContent('Dark, please.');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      const session = await runner.sessionService.getSession({ appName: 'settings', userId: 'ann', sessionId });
      tell(session?.state);
    }
  },
};
export default program;
