import { FunctionTool, LlmAgent, type SingleBeforeModelCallback } from '@google/adk';
import { HarmBlockThreshold, HarmCategory } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const roll = new FunctionTool({
  name: 'roll',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.number().int() }),
  execute: ({ sides }, toolContext) => {
    const rolls = (toolContext?.state.get('rolls') as number[] | undefined) ?? [];
    toolContext?.state.set('rolls', [...rolls, sides]);
    return sides;
  },
});
const prime = new FunctionTool({
  name: 'prime',
  description: 'Finds prime numbers.',
  parameters: z.object({ nums: z.array(z.number().int()) }),
  execute: ({ nums }) => `${nums.filter((each) => [2, 3, 5, 7].includes(each)).join(', ')} are prime`,
});

/** Sends only the last turns of the user. */
function lastTurns(count: number): SingleBeforeModelCallback {
  return ({ request }) => {
    const turns = request.contents.flatMap(({ role }, at) => (role === 'user' ? [at] : []));
    if (count <= turns.length) request.contents = request.contents.slice(turns.at(-count));
    return undefined;
  };
}

const agent = new LlmAgent({
  name: 'dice',
  model: 'gemini-flash-latest',
  instruction: 'Roll dice.',
  tools: [roll, prime],
  beforeModelCallback: lastTurns(2),
  generateContentConfig: {
    temperature: 0.1,
    thinkingConfig: { includeThoughts: true },
    automaticFunctionCalling: { disable: true },
    safetySettings: [{ category: HarmCategory.HARM_CATEGORY_DANGEROUS_CONTENT, threshold: HarmBlockThreshold.OFF }],
  },
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'roll', args: { sides: 7 } }] })),
    jsonReply(
      wireResponse({
        calls: [
          { name: 'prime', args: { nums: [7, 8] } },
          { name: 'roll', args: { sides: 3 } },
        ],
      }),
    ),
    jsonReply(wireResponse('7 is prime.')),
    jsonReply(wireResponse('You are welcome.')),
  ],
  main: (tell) => converse(tell, agent, ['Roll, and tell me the primes.', 'Thanks.']),
};
export default program;
