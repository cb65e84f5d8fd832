import { ExampleTool, FunctionTool, LlmAgent } from '@google/adk';
import { HarmBlockThreshold, HarmCategory } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const generateContentConfig = {
  safetySettings: [{ category: HarmCategory.HARM_CATEGORY_DANGEROUS_CONTENT, threshold: HarmBlockThreshold.OFF }],
};
const roll = new FunctionTool({
  name: 'roll',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.number().int() }),
  execute: ({ sides }) => sides - 1,
});
const check = new FunctionTool({
  name: 'check',
  description: 'Finds prime numbers.',
  parameters: z.object({ nums: z.array(z.number().int()) }),
  execute: ({ nums }) => `${nums.filter((each) => [2, 3, 5, 7].includes(each)).join(', ')} are prime.`,
});
const roller = new LlmAgent({
  name: 'roller',
  model,
  description: 'Rolls dice.',
  instruction: 'Roll.',
  tools: [roll],
  generateContentConfig,
});
const checker = new LlmAgent({
  name: 'checker',
  model,
  description: 'Checks numbers.',
  instruction: 'Check.',
  tools: [check],
  generateContentConfig,
});
const examples = new ExampleTool([
  {
    input: { role: 'user', parts: [{ text: 'Roll a die.' }] },
    output: [{ role: 'model', parts: [{ text: 'It is a 4.' }] }],
  },
  {
    input: { role: 'user', parts: [{ text: 'Roll and check.' }] },
    output: [
      { role: 'model', parts: [{ text: 'It is an 8.' }] },
      { role: 'model', parts: [{ text: '8 is not prime.' }] },
    ],
  },
]);
const agent = new LlmAgent({
  name: 'dice_team',
  model,
  instruction: 'Delegate.',
  globalInstruction: 'You play dice.',
  subAgents: [roller, checker],
  tools: [examples],
  generateContentConfig,
});
const call = (name: string, args: Record<string, unknown>) => jsonReply(wireResponse({ calls: [{ name, args }] }));

const program: Program = {
  replies: [
    call('transfer_to_agent', { agentName: 'roller' }),
    call('roll', { sides: 8 }),
    call('transfer_to_agent', { agentName: 'dice_team' }),
    call('transfer_to_agent', { agentName: 'checker' }),
    call('check', { nums: [7] }),
    jsonReply(wireResponse('7 is prime.')),
  ],
  main: (tell) => converse(tell, agent, ['Roll a die with 8 sides, and tell me whether it is prime.']),
};
export default program;
