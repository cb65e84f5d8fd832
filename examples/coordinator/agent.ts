import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const findInvoice = new FunctionTool({
  name: 'find_invoice',
  description: 'Finds an invoice by its number.',
  parameters: z.object({ number: z.string() }),
  execute: ({ number }) => ({ number, amount: '48.00 EUR', paid: false }),
});

const restartRouter = new FunctionTool({
  name: 'restart_router',
  description: "Restarts the user's router from afar.",
  parameters: z.object({}),
  execute: () => ({ status: 'restarted' }),
});

const billing = new LlmAgent({
  name: 'billing',
  description: 'Answers questions about invoices and payments.',
  instruction: 'You know about invoices and payments.',
  tools: [findInvoice],
});

const support = new LlmAgent({
  name: 'support',
  description: 'Helps when the connection does not work.',
  instruction: 'You repair connections.',
  tools: [restartRouter],
});

export const rootAgent = new LlmAgent({
  name: 'reception',
  model: 'gemini-flash-latest',
  instruction: 'You welcome customers of an internet provider.',
  subAgents: [billing, support],
});
