import { AgentTool, FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const model = 'gemini-flash-latest';

const findFlights = new FunctionTool({
  name: 'find_flights',
  description: 'Finds flights between two cities.',
  parameters: z.object({ from: z.string(), to: z.string() }),
  execute: ({ from, to }) => ({ flights: [{ from, to, leaves: '09:40', euros: 120 }] }),
});

const weather = new LlmAgent({
  name: 'weather',
  description: 'Knows the weather of a city.',
  model,
  instruction: 'Say in one line what the weather is.',
});

export const rootAgent = new LlmAgent({
  name: 'travel',
  model,
  instruction: 'Plan trips. Ask about the weather before you recommend a flight.',
  tools: [findFlights, new AgentTool({ agent: weather })],
});
