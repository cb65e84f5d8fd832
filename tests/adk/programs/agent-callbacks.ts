import { type Context, InMemoryRunner, isFinalResponse, LlmAgent } from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const skipIfAsked = (context: Context): Content | undefined => {
  const state = context.state;
  if (!state.get('skip', false)) return undefined;
  return { role: 'model', parts: [{ text: `${context.agentName} was skipped.` }] };
};

const addNote = async (context: Context): Promise<Content | undefined> => {
  const count = (context.state.get<number>('runs', 0) ?? 0) + 1;
  context.state.set('runs', count);
  return count > 1 ? { parts: [{ text: `Run ${count} is over.` }] } : undefined;
};

const agent = new LlmAgent({
  name: 'helper',
  model: 'gemini-2.5-flash',
  instruction: 'Help.',
  beforeAgentCallback: skipIfAsked,
  afterAgentCallback: [addNote],
});

const program: Program = {
  replies: [jsonReply(wireResponse('Hello.')), jsonReply(wireResponse('Hello again.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'callbacks' });
    const send = async (sessionId: string): Promise<void> => {
      const newMessage = createUserContent('Hello?');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        tell({ final: isFinalResponse(event) });
      }
    };
    await runner.sessionService.createSession({ appName: 'callbacks', userId: 'ann', sessionId: 'runs' });
    await runner.sessionService.createSession({
      appName: 'callbacks',
      userId: 'ann',
      sessionId: 'skips',
      state: { skip: true },
    });
    await send('runs');
    await send('runs');
    await send('skips');
  },
};
export default program;
