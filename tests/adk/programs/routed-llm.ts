import {
  type BaseLlm,
  Gemini,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmRouter,
  RoutedLlm,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const models = {
  primary: new Gemini({ model: 'gemini-flash-latest' }),
  fallback: new Gemini({ model: 'gemini-pro-latest' }),
};

const router: LlmRouter = (_models: Readonly<Record<string, BaseLlm>>, request: LlmRequest, errorContext) => {
  if (errorContext) return errorContext.failedKeys.has('primary') ? 'fallback' : undefined;
  return request.contents.length > 2 ? 'fallback' : 'primary';
};

const agent = new LlmAgent({ name: 'helper', model: new RoutedLlm({ models, router }), instruction: 'Help.' });

const program: Program = {
  replies: [jsonReply(wireResponse('From the first.')), jsonReply(wireResponse('From the second.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'routes' });
    const session = await runner.sessionService.createSession({ appName: 'routes', userId: 'ann' });
    for (const text of ['Hello!', 'And now?']) {
      const newMessage = { role: 'user', parts: [{ text }] };
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    }
  },
};
export default program;
