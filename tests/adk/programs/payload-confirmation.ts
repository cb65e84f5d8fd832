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

const requestTimeOff = new FunctionTool({
  name: 'request_time_off',
  description: 'Requests days off.',
  parameters: z.object({ days: z.number() }),
  execute: async ({ days }, toolContext) => {
    const confirmation = toolContext?.toolConfirmation;
    if (!confirmation) {
      toolContext?.requestConfirmation({ hint: 'Approve the days.', payload: { approvedDays: 0 } });
      return { status: 'PENDING' };
    }
    if (!confirmation.confirmed) return { status: 'CANCELLED' };
    const { approvedDays } = confirmation.payload as { approvedDays: number };
    return { status: 'SUCCESS', approvedDays: Math.min(approvedDays, days) };
  },
});

const agent = new LlmAgent({ name: 'hr', model: 'gemini-2.5-flash', instruction: 'Help.', tools: [requestTimeOff] });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'request_time_off', args: { days: 5 } }] })),
    jsonReply(wireResponse('It is pending.')),
    jsonReply(wireResponse('Three days are approved.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'hr' });
    const session = await runner.sessionService.createSession({ appName: 'hr', userId: 'ann' });
    let id = '';
    const name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME;
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        id = getFunctionCalls(event).find((call) => call.name === name)?.id ?? id;
      }
    };
    await send(createUserContent('Five days off.'));
    const response = { confirmed: true, payload: { approvedDays: 3 } };
    await send({ role: 'user', parts: [{ functionResponse: { id, name, response } }] });
  },
};
export default program;
