import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const refund = new FunctionTool({
  name: 'refund',
  description: 'Pays money back to a customer.',
  parameters: z.object({ customer: z.string(), euros: z.number().positive() }),
  requireConfirmation: ({ euros }) => euros > 50,
  execute: ({ customer, euros }, toolContext) => {
    toolContext.state.set('refunded', { customer, euros });
    return { status: 'paid back' };
  },
});

export const rootAgent = new LlmAgent({
  name: 'cashier',
  model: 'gemini-flash-latest',
  instruction: 'You pay money back when you are asked to, and say what became of it.',
  tools: [refund],
});
