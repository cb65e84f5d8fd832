import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const openingHours = new FunctionTool({
  name: 'opening_hours',
  description: 'When the museum is open on a day of the week.',
  parameters: z.object({ day: z.string() }),
  execute: ({ day }) => ({ day, open: day === 'Monday' ? 'closed' : '10:00 to 18:00' }),
});

export const rootAgent = new LlmAgent({
  name: 'museum',
  model: 'gemini-3.1-flash-live-preview',
  instruction: 'You answer the telephone of a museum. Be brief.',
  tools: [openingHours],
});
