import {
  type Event,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  stringifyContent,
} from '@google/adk';
import { createUserContent, type FunctionCall, type FunctionResponse } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const parameters = z.object({
  purpose: z.string().describe('The purpose.'),
  amount: z.number().describe('The amount.'),
});

function askForApproval({ purpose, amount }: { purpose: string; amount: number }) {
  return { status: 'pending', approver: 'Eve', purpose, amount, 'ticket-id': 'ticket-1' };
}
const ask = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks for the approval of a reimbursement.',
  parameters,
  execute: askForApproval,
});
const reimburse = new FunctionTool({
  name: 'reimburse',
  description: 'Reimburses an amount.',
  parameters,
  execute: (_args: { purpose: string; amount: number }) => ({ status: 'ok' }),
});
const agent = new LlmAgent({
  name: 'reimbursement_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Reimburse small amounts; ask for the approval of others.',
  tools: [reimburse, ask],
});

function longRunningCall({ longRunningToolIds, content }: Event): FunctionCall | undefined {
  for (const { functionCall } of content?.parts ?? [])
    if (functionCall?.id && longRunningToolIds?.includes(functionCall.id)) return functionCall;
  return undefined;
}

function responseTo(id: string | undefined, { content }: Event): FunctionResponse | undefined {
  return content?.parts?.find(({ functionResponse }) => functionResponse?.id === id)?.functionResponse;
}

const call = (name: string, amount: number) =>
  jsonReply(wireResponse({ calls: [{ name, args: { purpose: 'meals', amount } }] }));

const program: Program = {
  replies: [
    call('reimburse', 50),
    jsonReply(wireResponse('50 are paid.')),
    call('ask_for_approval', 200),
    jsonReply(wireResponse('The manager was asked.')),
    call('reimburse', 200),
    jsonReply(wireResponse('200 are paid.')),
  ],
  async main(tell) {
    const appName = 'approvals';
    for (const amount of [50, 200]) {
      const sessionService = new InMemorySessionService();
      const { id: sessionId } = await sessionService.createSession({ appName, userId: 'ann', sessionId: 's' });
      const runner = new Runner({ agent, appName, sessionService });
      let open: FunctionCall | undefined;
      let response: FunctionResponse | undefined;
      const send = async (text: string): Promise<void> => {
        for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent(text) })) {
          tell(event);
          tell(stringifyContent(event));
          if (open) response ??= responseTo(open.id, event);
          else open = longRunningCall(event);
        }
      };
      await send(`Please reimburse ${amount} for meals.`);
      if (response) {
        tell(String(response.response?.['ticket-id']));
        const { id, name } = response;
        // The answer comes as a text here, not as a function response.
        await send(JSON.stringify({ functionResponse: { id, name, response: { status: 'approved' } } }));
      }
    }
  },
};
export default program;
