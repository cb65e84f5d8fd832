import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const add = new FunctionTool({
  name: 'add',
  description: 'Adds two numbers.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }, toolContext) => {
    toolContext.state.set('lastSum', a + b);
    return { sum: a + b };
  },
});

export const rootAgent = new LlmAgent({
  name: 'math',
  model: 'gemini-flash-latest',
  instruction: 'Help with sums.',
  tools: [add],
});
