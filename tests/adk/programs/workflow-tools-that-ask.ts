import {
  App,
  createEvent,
  getUserInputRequests,
  InMemoryRunner,
  LlmAgent,
  node,
  type NodeContext,
  RequestInput,
  Workflow,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const discount = node(
  function* ({ resumeInputs }: NodeContext, { tier }: { tier: string }) {
    yield createEvent({ content: { role: 'model', parts: [{ text: `Looking at ${tier}.` }] } });
    const answer = resumeInputs['discount'];
    if (tier !== 'gold') yield '5 %';
    else if (answer === undefined) yield new RequestInput({ interruptId: 'discount', message: 'Give the discount?' });
    else yield JSON.stringify(answer).includes('yes') ? '20 %' : '5 %';
  },
  {
    name: 'discount',
    description: 'Finds the discount of a tier.',
    inputSchema: z.object({ tier: z.string().describe('The tier.') }),
    rerunOnResume: true,
  },
);
const lookUp = node((_context: NodeContext, { id }: { id: string }) => ({ id, tier: id === 'c1' ? 'gold' : 'tin' }), {
  name: 'look_up',
});
const customer = new Workflow({
  name: 'customer',
  description: 'Looks up a customer.',
  inputSchema: z.object({ id: z.string() }),
  edges: [['START', lookUp]],
});
const rootAgent = new LlmAgent({
  name: 'service',
  model: 'gemini-flash-latest',
  instruction: 'Find the discount.',
  tools: [customer, discount],
});
const app = new App({ name: 'shop', rootAgent, resumabilityConfig: { isResumable: true } });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'customer', args: { id: 'c1' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'discount', args: { tier: 'gold' } }] })),
    jsonReply(wireResponse('20 % for c1.')),
    jsonReply(wireResponse({ calls: [{ name: 'discount', args: { tier: 'gold' } }] })),
    jsonReply(wireResponse('20 % for gold.')),
  ],
  async main(tell) {
    for (const answer of ['a response', 'a text']) {
      const runner = new InMemoryRunner(answer === 'a text' ? { app } : { agent: rootAgent, appName: 'shop' });
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'shop', userId: 'ann' });
      let asked = { id: '', name: '' };
      const send = async (newMessage: Content): Promise<void> => {
        for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
          tell(event);
          for (const { interruptId: id, functionCallName: name } of getUserInputRequests(event)) asked = { id, name };
        }
      };
      await send(createUserContent('The discount of c1?'));
      if (answer === 'a text') await send(createUserContent('yes'));
      else await send({ role: 'user', parts: [{ functionResponse: { ...asked, response: { result: 'yes' } } }] });
    }
  },
};
export default program;
