import { FunctionTool, LlmAgent, LoopAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const temperatures = [31, 39];
const read = new FunctionTool({
  name: 'read',
  description: 'Reads the temperature.',
  execute: async () => {
    await Promise.resolve();
    return temperatures.shift() ?? 0;
  },
});
const warn = new FunctionTool({
  name: 'warn',
  description: 'Warns of a temperature.',
  parameters: z.object({ temperature: z.number(), limit: z.number() }),
  execute: ({ temperature, limit }: { temperature: number; limit: number }) => `${temperature} is above ${limit}.`,
});
const monitor = new LlmAgent({
  name: 'monitor',
  model: 'gemini-2.5-flash',
  description: 'Watches the temperature.',
  instruction: 'Watch the temperature, and warn of high ones.',
  tools: [read, warn],
});
const rootAgent = new LoopAgent({
  name: 'watch',
  description: 'Watches on and on.',
  maxIterations: 2,
  subAgents: [monitor],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'read', args: {} }] })),
    jsonReply(wireResponse('All is well.')),
    jsonReply(wireResponse({ calls: [{ name: 'read', args: {} }] })),
    jsonReply(wireResponse({ calls: [{ name: 'warn', args: { temperature: 39, limit: 35 } }] })),
    jsonReply(wireResponse('You are warned.')),
  ],
  main: (tell) => converse(tell, rootAgent, ['Warn me above 35.']),
};
export default program;
