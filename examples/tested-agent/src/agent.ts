import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

export const refund = new FunctionTool({
  name: 'refund',
  description: 'Pays money back for an order.',
  parameters: z.object({ order: z.string(), euros: z.number().positive() }),
  requireConfirmation: ({ euros }) => euros > 50,
  execute: ({ order, euros }, toolContext) => {
    toolContext.state.set('refunded', { order, euros });
    return { status: 'paid back' };
  },
});

export const deliverAgain = new FunctionTool({
  name: 'deliver_again',
  description: 'Delivers an order a second time.',
  parameters: z.object({ order: z.string() }),
  execute: ({ order }, toolContext) => {
    const day = toolContext.getInput();
    if (day === undefined)
      return toolContext.requestInput({ message: 'On which day?', responseSchema: z.enum(['Monday', 'Friday']) });
    return { order, day };
  },
});

export const agent = new LlmAgent({
  name: 'desk',
  model: 'gemini-flash-latest',
  instruction: 'Help customers with their orders.',
  tools: [refund, deliverAgain],
});
