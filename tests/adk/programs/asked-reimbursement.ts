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

/** A tool that asks by itself, with another hint for large amounts, until the answer is a yes. */
const reimburse = new FunctionTool({
  name: 'reimburse',
  description: 'Reimburses an amount.',
  parameters: z.object({ amount: z.coerce.number().describe('The amount.') }),
  execute: async ({ amount }, toolContext) => {
    if (toolContext?.toolConfirmation?.confirmed) return { status: 'SUCCESS', amount };
    toolContext?.requestConfirmation({
      hint: amount > 1000 ? `${amount} need the approval of a manager.` : `Do you want to reimburse ${amount}?`,
      payload: { amount },
    });
    return { status: amount > 1000 ? 'AWAITING_APPROVAL' : 'AWAITING_CONFIRMATION' };
  },
});
const rootAgent = new LlmAgent({
  name: 'Finance_Assistant',
  model: 'gemini-flash-latest',
  instruction: 'Reimburse, and say so.',
  tools: [reimburse],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ text: 'I start with 45.', calls: [{ name: 'reimburse', args: { amount: '45' } }] })),
    jsonReply(wireResponse('Please confirm.')),
    jsonReply(wireResponse('45 are paid.')),
    jsonReply(
      wireResponse({ text: 'A manager must approve.', calls: [{ name: 'reimburse', args: { amount: 2500 } }] }),
    ),
    jsonReply(wireResponse('Please ask your manager.')),
    jsonReply(wireResponse('The manager was asked again.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: rootAgent, appName: 'finance' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'finance', userId: 'ann' });
    const name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME;
    const send = async (newMessage: Content): Promise<string> => {
      let asked = '';
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        asked = getFunctionCalls(event).find((call) => call.name === name)?.id ?? asked;
      }
      return asked;
    };
    for (const [text, confirmed] of [
      ['Reimburse me $45.', true],
      ['Reimburse me $2500.', false],
    ] as const) {
      const id = await send(createUserContent(text));
      await send({ role: 'user', parts: [{ functionResponse: { id, name, response: { confirmed } } }] });
    }
  },
};
export default program;
