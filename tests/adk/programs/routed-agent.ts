import { InMemoryRunner, LlmAgent, RoutedAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const quick = new LlmAgent({ name: 'quick', model: 'gemini-flash-latest', instruction: 'Answer at once.' });
const thorough = new LlmAgent({ name: 'thorough', model: 'gemini-pro-latest', instruction: 'Think first.' });
const settings = { selected: 'quick' };
const agent = new RoutedAgent({ name: 'routed', agents: { quick, thorough }, router: () => settings.selected });

const program: Program = {
  replies: [jsonReply(wireResponse('I am quick.')), jsonReply(wireResponse('I am thorough.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'routes' });
    const session = await runner.sessionService.createSession({ appName: 'routes', userId: 'ann' });
    for (const selected of ['quick', 'thorough']) {
      settings.selected = selected;
      const newMessage = { role: 'user', parts: [{ text: 'Who are you?' }] };
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    }
  },
};
export default program;
