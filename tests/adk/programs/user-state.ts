import { type Context, FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const parameters = z.object({ preference: z.string(), value: z.string() });

async function keep({ preference, value }: z.infer<typeof parameters>, context?: Context): Promise<string> {
  const preferences = context?.state.get<Record<string, string>>('user:preferences', {}) ?? {};
  preferences[preference] = value;
  context?.state.set('user:preferences', preferences);
  context?.state.set('temp:last', preference);
  return `${preference} = ${value}`;
}

const setPreference = new FunctionTool({
  name: 'set_preference',
  description: 'Sets a preference of the user.',
  parameters,
  execute: keep,
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
