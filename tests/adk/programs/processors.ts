import {
  BaseLlmRequestProcessor,
  BaseLlmResponseProcessor,
  CONTENT_REQUEST_PROCESSOR,
  type Event,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

class Politeness extends BaseLlmRequestProcessor {
  override async *runAsync(_context: InvocationContext, request: LlmRequest): AsyncGenerator<Event, void, void> {
    request.contents.push({ role: 'user', parts: [{ text: 'Please.' }] });
    yield* [];
  }
}

class Signature extends BaseLlmResponseProcessor {
  override async *runAsync(_context: InvocationContext, response: LlmResponse): AsyncGenerator<Event, void, void> {
    response.content?.parts?.push({ text: ' Yours, the helper.' });
    yield* [];
  }
}

const program: Program = {
  replies: [jsonReply(wireResponse('Gladly.'))],
  async main(tell) {
    const agent = new LlmAgent({
      name: 'helper',
      model: 'gemini-2.5-flash',
      requestProcessors: [CONTENT_REQUEST_PROCESSOR, new Politeness()],
      responseProcessors: [new Signature()],
    });
    const runner = new InMemoryRunner({ agent, appName: 'office' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'office', userId: 'ann' });
    const newMessage = createUserContent('Help me.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
  },
};
export default program;
