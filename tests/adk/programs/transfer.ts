import { type Context, FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent, stringifyContent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const support = new LlmAgent({ name: 'support_agent', model, instruction: 'You handle urgent requests.' });

function transferIfUrgent({ query }: { query: string }, context?: Context): string {
  if (!context) throw new Error('A transfer needs the context.');
  if (!query.toLowerCase().includes('urgent')) return `Processed query: '${query}'.`;
  context.actions.transferToAgent = 'support_agent';
  return 'Transferring to the support agent.';
}

const checkAndTransfer = new FunctionTool({
  name: 'check_and_transfer',
  description: 'Checks whether the request is urgent, and transfers it.',
  parameters: z.object({ query: z.string() }),
  execute: transferIfUrgent,
});

const agent = new LlmAgent({
  name: 'main_agent',
  model,
  instruction: 'Use check_and_transfer.',
  tools: [checkAndTransfer],
  subAgents: [support],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'check_and_transfer', args: { query: 'this is urgent!' } }] })),
    jsonReply(wireResponse('I am here to help.')),
    jsonReply(wireResponse('Still here.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'support' });
    const session = await runner.sessionService.createSession({ appName: 'support', userId: 'ann' });
    for (const text of ['This is urgent!', 'Are you there?'])
      for await (const event of runner.runAsync({
        userId: 'ann',
        sessionId: session.id,
        newMessage: createUserContent(text),
      })) {
        tell(event);
        if (isFinalResponse(event)) tell(stringifyContent(event));
      }
  },
};
export default program;
