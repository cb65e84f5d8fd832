import {
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const reimburse = new FunctionTool({
  name: 'reimburse',
  description: 'Reimburses an amount.',
  parameters: z.object({ amount: z.number() }),
  execute: async ({ amount }) => ({ status: 'ok', amount }),
  requireConfirmation: async ({ amount }) => amount > 1000,
});

const agent = new LlmAgent({ name: 'payer', model: 'gemini-2.5-flash', instruction: 'Reimburse.', tools: [reimburse] });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'reimburse', args: { amount: 10 } }] })),
    jsonReply(wireResponse('Ten are paid.')),
    jsonReply(wireResponse({ calls: [{ name: 'reimburse', args: { amount: 2000 } }] })),
    jsonReply(wireResponse('Two thousand are paid.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'money' });
    const session = await runner.sessionService.createSession({ appName: 'money', userId: 'ann' });
    const asked: string[] = [];
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        for (const call of getFunctionCalls(event))
          if (call.name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME) asked.push(call.id ?? '');
      }
    };
    await send(createUserContent('Ten, please.'));
    await send(createUserContent('Two thousand, please.'));
    const name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME;
    for (const id of asked)
      await send({ role: 'user', parts: [{ functionResponse: { id, name, response: { confirmed: true } } }] });
  },
};
export default program;
