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

const model = 'gemini-flash-latest';
const account = z.object({ account: z.string() });
const status = new FunctionTool({
  name: 'status',
  description: 'Returns the status of an account.',
  parameters: account,
  execute: ({ account: id }) => `${id} is open.`,
});
const close = new FunctionTool({
  name: 'close',
  description: 'Closes an account.',
  parameters: account,
  requireConfirmation: true,
  execute: ({ account: id }) => `${id} is closed.`,
});
const informer = new LlmAgent({ name: 'informer', model, description: 'Knows accounts.', tools: [status] });
const closer = new LlmAgent({ name: 'closer', model, description: 'Closes accounts.', tools: [close] });
const bank = new LlmAgent({ name: 'bank', model, description: 'Delegates.', subAgents: [informer, closer] });
const call = (name: string, args: Record<string, unknown>) => jsonReply(wireResponse({ calls: [{ name, args }] }));

const program: Program = {
  replies: [
    call('transfer_to_agent', { agentName: 'informer' }),
    call('status', { account: 'a1' }),
    jsonReply(wireResponse('It is open.')),
    call('transfer_to_agent', { agentName: 'closer' }),
    call('close', { account: 'a1' }),
    jsonReply(wireResponse('It is closed.')),
    call('close', { account: 'a2' }),
    jsonReply(wireResponse('It stays open.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: bank, appName: 'bank' });
    const session = await runner.sessionService.createSession({ appName: 'bank', userId: 'ann' });
    let id = '';
    const name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME;
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        id = getFunctionCalls(event).find((each) => each.name === name)?.id ?? id;
      }
    };
    const answer = (confirmed: boolean): Promise<void> =>
      send({ role: 'user', parts: [{ functionResponse: { id, name, response: { confirmed } } }] });
    await send(createUserContent('How is a1?'));
    await send(createUserContent('Close a1.'));
    await answer(true);
    await send(createUserContent('Close a2.'));
    await answer(false);
  },
};
export default program;
