import {
  App,
  type Context,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program, Tell } from '../stage.ts';

const send = new FunctionTool({
  name: 'send',
  description: 'Sends money.',
  parameters: z.object({ amount: z.number(), to: z.string() }),
  execute: ({ amount, to }, toolContext?: Context) => {
    if (amount < 100) return { result: `${amount} went to ${to}.` };
    const confirmation = toolContext?.toolConfirmation;
    if (!confirmation) {
      toolContext?.requestConfirmation({ hint: `Send ${amount} to ${to}?` });
      return { error: 'Somebody must approve this.' };
    }
    return confirmation.confirmed ? { result: `${amount} went to ${to}.` } : { error: 'It was refused.' };
  },
});
const close = new FunctionTool({
  name: 'close',
  description: 'Closes the account.',
  execute: () => ['closed', 'archived'],
  requireConfirmation: true,
});
const rootAgent = new LlmAgent({
  name: 'cashier',
  model: 'gemini-flash-latest',
  tools: [send, close],
  generateContentConfig: { temperature: 0.1 },
});
const call = (name: string, args: Record<string, unknown>) => jsonReply(wireResponse({ calls: [{ name, args }] }));
const said = (text: string) => jsonReply(wireResponse(text));

/** Talks to the agent in one session, and answers its requests for confirmations. */
async function talk(
  app: App,
  tell: Tell,
  messages: readonly (string | { readonly confirmed: boolean })[],
): Promise<void> {
  const runner = new InMemoryRunner({ app });
  const session = await runner.sessionService.createSession({ appName: app.name, userId: 'ann' });
  const name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME;
  let id = '';
  for (const message of messages) {
    const newMessage: Content =
      typeof message === 'string'
        ? createUserContent(message)
        : { role: 'user', parts: [{ functionResponse: { id, name, response: { ...message } } }] };
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
      tell(event);
      id = getFunctionCalls(event).find((each) => each.name === name)?.id ?? id;
    }
  }
}

const program: Program = {
  replies: [
    call('send', { amount: 50, to: 'Bob' }),
    said('Sent.'),
    call('close', {}),
    said('Closed.'),
    call('close', {}),
    said('Still open.'),
    call('close', {}),
    said('Closed.'),
    call('send', { amount: 200, to: 'Bob' }),
    said('Please approve.'),
    said('Sent after all.'),
  ],
  async main(tell) {
    const plain = new App({ name: 'cash', rootAgent });
    await talk(plain, tell, ['Send 50 to Bob.', 'Close it.', { confirmed: true }]);
    await talk(plain, tell, ['Close it.', { confirmed: false }]);
    const resumable = new App({ name: 'cash', rootAgent, resumabilityConfig: { isResumable: true } });
    await talk(resumable, tell, ['Close it.', { confirmed: true }]);
    try {
      await talk(plain, tell, ['Send 200 to Bob.', { confirmed: true }]);
    } catch (error) {
      tell(`refused: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
};
export default program;
