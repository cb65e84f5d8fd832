import { FunctionTool, LlmAgent, SequentialAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const orderSchema = z.object({ size: z.string(), toppings: z.array(z.string()) });
const sizes = new FunctionTool({ name: 'sizes', description: 'Gives the sizes.', execute: () => ['small', 'large'] });
const price = new FunctionTool({
  name: 'price',
  description: 'Gives the price.',
  execute: (_input, toolContext) => {
    const order = toolContext?.state.get('order');
    return order ? `${orderSchema.parse(order).toppings.length * 2} euros` : 'There is no order.';
  },
});
const intake = new LlmAgent({
  name: 'intake',
  model: 'gemini-flash-latest',
  instruction: 'Take the order.',
  outputKey: 'order',
  outputSchema: orderSchema,
  tools: [sizes],
});
const confirmation = new LlmAgent({
  name: 'confirmation',
  model: 'gemini-flash-latest',
  instruction: 'Confirm {order}.',
  tools: [price],
});
const agent = new SequentialAgent({ name: 'pizza', subAgents: [intake, confirmation] });

const order = { size: 'large', toppings: ['onions', 'bacon'] };
const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'sizes', args: {} }] })),
    (request) =>
      jsonReply(
        wireResponse(
          JSON.stringify(request.body).includes('set_model_response')
            ? { calls: [{ name: 'set_model_response', args: order }] }
            : JSON.stringify(order),
        ),
      ),
    jsonReply(wireResponse({ calls: [{ name: 'price', args: {} }] })),
    jsonReply(wireResponse('4 euros, then.')),
  ],
  main: (tell) => converse(tell, agent, ['A large pizza with onions and bacon.']),
};
export default program;
