import { getFunctionCalls, InMemoryRunner, LlmAgent, LongRunningFunctionTool } from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const askForApproval = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks for the approval of a reimbursement.',
  parameters: z.object({ purpose: z.string(), amount: z.number() }),
  execute: ({ purpose, amount }) => ({ status: 'pending', ticket: `ticket-${purpose}`, amount }),
});

const agent = new LlmAgent({
  name: 'reimbursement_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Ask for approval.',
  outputKey: 'reimbursement',
  tools: [askForApproval],
});

const program: Program = {
  replies: [
    jsonReply(
      wireResponse({
        text: 'I am asking.',
        calls: [{ name: 'ask_for_approval', args: { purpose: 'meals', amount: 200 } }],
      }),
    ),
    jsonReply(wireResponse('It is pending.')),
    jsonReply(wireResponse('It is approved.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'money' });
    const session = await runner.sessionService.createSession({ appName: 'money', userId: 'ann' });
    let id = '';
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        id = getFunctionCalls(event).find((call) => event.longRunningToolIds?.includes(call.id ?? ''))?.id ?? id;
      }
    };
    await send(createUserContent('Reimburse 200 for meals.'));
    const response = { status: 'approved', amount: 200 };
    await send({ role: 'user', parts: [{ functionResponse: { id, name: 'ask_for_approval', response } }] });
  },
};
export default program;
