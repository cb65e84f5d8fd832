import {
  type Context,
  type Event,
  InMemoryRunner,
  isFinalResponse,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const guard = ({ context, request }: { context: Context; request: LlmRequest }): LlmResponse | undefined => {
  const last = request.contents.at(-1)?.parts?.[0]?.text ?? '';
  context.state.set('asked', last);
  if (request.config) request.config.systemInstruction = `[modified] ${String(request.config.systemInstruction)}`;
  return last.includes('BLOCK') ? { content: { role: 'model', parts: [{ text: 'That is blocked.' }] } } : undefined;
};

const replaceJoke = ({ response }: { context: Context; response: LlmResponse }): LlmResponse | undefined => {
  const text = response.content?.parts?.[0]?.text;
  if (!text?.includes('joke')) return undefined;
  return { ...response, content: { role: 'model', parts: [{ text: text.replaceAll('joke', 'funny story') }] } };
};

const agent = new LlmAgent({
  name: 'helper',
  model: 'gemini-2.5-flash',
  instruction: 'Help.',
  beforeModelCallback: guard,
  afterModelCallback: replaceJoke,
});

const program: Program = {
  replies: [jsonReply(wireResponse('Here is a joke.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'callbacks' });
    const session = await runner.sessionService.createSession({ appName: 'callbacks', userId: 'ann' });
    for (const text of ['Tell me a joke.', 'BLOCK this.']) {
      const newMessage = createUserContent(text);
      const run: AsyncIterable<Event> = runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage });
      for await (const event of run) {
        tell(event);
        tell({ final: isFinalResponse(event) });
      }
    }
  },
};
export default program;
