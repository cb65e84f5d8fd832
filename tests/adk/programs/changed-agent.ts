import { FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** Changes the options of an agent between two runs, as a page with settings does. */
const program: Program = {
  replies: [
    jsonReply(wireResponse('It is warm.')),
    jsonReply(wireResponse({ calls: [{ name: 'look_outside', args: {} }] })),
    jsonReply(wireResponse('It rains.')),
  ],
  async main(tell) {
    const agent = new LlmAgent({ name: 'weather', model: 'gemini-flash-latest', instruction: 'Guess.' });
    const runner = new InMemoryRunner({ agent, appName: 'weather' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'weather', userId: 'ann' });
    const send = async (text: string): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent(text) }))
        tell(event);
    };
    await send('How is the weather?');
    const description = 'Looks out of the window.';
    const lookOutside = new FunctionTool({ name: 'look_outside', description, execute: () => ({ sky: 'grey' }) });
    agent.instruction = 'Look.';
    agent.tools = [...agent.tools, lookOutside];
    agent.generateContentConfig = { temperature: 0 };
    agent.outputKey = 'weather';
    await send('Look again.');
    const session = await runner.sessionService.getSession({ appName: 'weather', userId: 'ann', sessionId });
    tell({ state: { ...session?.state } });
  },
};
export default program;
