import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const weather = new FunctionTool({
  name: 'weather',
  description: 'Returns the weather.',
  parameters: z.object({ city: z.string().describe('The city.') }),
  execute: async ({ city }, toolContext) => {
    const asked = (toolContext?.state.get('weather') as string[] | undefined) ?? [];
    await Promise.resolve();
    toolContext?.state.set('weather', [...asked, city]);
    return { city, temperature: city.length };
  },
});
const rate = new FunctionTool({
  name: 'rate',
  description: 'Returns an exchange rate.',
  parameters: z.object({ from: z.string(), to: z.string() }),
  execute: async ({ from, to }, toolContext) => {
    toolContext?.state.set('rate', `${from}-${to}`);
    await Promise.resolve();
    return { rate: 0.85 };
  },
});
const agent = new LlmAgent({
  name: 'traveller',
  model: 'gemini-flash-latest',
  instruction: 'Use many tools.',
  tools: [weather, rate],
});

const program: Program = {
  replies: [
    jsonReply(
      wireResponse({
        calls: [
          { name: 'weather', args: { city: 'Oslo' } },
          { name: 'weather', args: { city: 'Lisbon' } },
          { name: 'rate', args: { from: 'USD', to: 'EUR' } },
          { name: 'weather', args: { city: 'Rome' } },
        ],
      }),
    ),
    jsonReply(wireResponse('All fine.')),
  ],
  main: (tell) => converse(tell, agent, ['Weather and rates?']),
};
export default program;
