import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const roll = new FunctionTool({
  name: 'roll',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.number().int() }),
  execute: ({ sides }) => sides,
});
const agent = new LlmAgent({
  name: 'dice',
  model: 'gemini-pro-latest',
  instruction: 'Roll dice.',
  tools: [roll],
  outputKey: 'said',
  generateContentConfig: { thinkingConfig: { includeThoughts: true } },
});
const reply = (parts: readonly object[]) =>
  jsonReply({
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, thoughtsTokenCount: 7, totalTokenCount: 13 },
  });

const program: Program = {
  replies: [
    reply([
      { text: 'The user wants a roll.', thought: true },
      { functionCall: { name: 'roll', args: { sides: 6 } }, thoughtSignature: 'c2lnbmVk' },
    ]),
    reply([
      { text: 'It is a 6.', thought: true },
      { text: 'You rolled a 6.', thoughtSignature: 'YWdhaW4=' },
    ]),
    reply([{ text: 'Only thinking.', thought: true }]),
  ],
  main: (tell) => converse(tell, agent, ['Roll a die.', 'Think.']),
};
export default program;
