import { type Event, FunctionTool, getFunctionCalls, InMemoryRunner, LlmAgent, SequentialAgent } from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';

/** Plans, pays after an approval, and reports: the sequence runs once more when the approval is there. */
const program: Program = {
  replies: [
    jsonReply(wireResponse('Pay 20.')),
    jsonReply(wireResponse({ calls: [{ name: 'pay', args: { amount: 20 } }] })),
    jsonReply(wireResponse('Nothing is paid yet.')),
    jsonReply(wireResponse('Pay 20, as planned.')),
    jsonReply(wireResponse('Paid.')),
    jsonReply(wireResponse('20 were paid.')),
  ],
  async main(tell) {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays an amount.',
      parameters: z.object({ amount: z.number() }),
      requireConfirmation: true,
      execute: ({ amount }) => ({ paid: amount }),
    });
    const agent = new SequentialAgent({
      name: 'payments',
      subAgents: [
        new LlmAgent({ name: 'planner', model, instruction: 'Plan.' }),
        new LlmAgent({ name: 'payer', model, instruction: 'Pay.', tools: [pay] }),
        new LlmAgent({ name: 'reporter', model, instruction: 'Report.' }),
      ],
    });
    const runner = new InMemoryRunner({ agent, appName: 'payments' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'payments', userId: 'ann' });
    const events: Event[] = [];
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        events.push(event);
        if (event.content?.parts?.some(({ text }) => text)) tell(event);
      }
    };
    await send(createUserContent('Pay the invoice.'));
    const asked = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
    const functionResponse = { id: asked?.id ?? '', name: asked?.name ?? '', response: { confirmed: true } };
    await send({ role: 'user', parts: [{ functionResponse }] });
  },
};
export default program;
