import { Agent, BuiltInCodeExecutor, FunctionTool } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const lookUp = new FunctionTool({
  name: 'look_up',
  description: 'Looks a number up.',
  parameters: z.object({ what: z.string() }),
  execute: () => ({ number: 6 }),
});
/** The service refuses some of these combinations; both libraries send them. */
const calculator = new Agent({
  name: 'Calculator',
  model: 'gemini-2.5-flash',
  description: 'Calculates.',
  tools: [lookUp],
  codeExecutor: new BuiltInCodeExecutor(),
});
const reader = new Agent({
  name: 'Reader',
  model: 'gemini-2.5-flash',
  description: 'Looks numbers up.',
  instruction: 'Look numbers up.',
  tools: [lookUp],
});
const coder = new Agent({
  name: 'Coder',
  model: 'gemini-2.5-flash',
  description: 'Writes code.',
  instruction: 'Write code.',
  codeExecutor: new BuiltInCodeExecutor(),
});
const chief = new Agent({
  name: 'Chief',
  model: 'gemini-2.5-flash',
  description: 'Delegates.',
  subAgents: [reader, coder],
});

const transfer = (agentName: string) =>
  jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName } }] }));
const code = {
  candidates: [
    {
      content: {
        role: 'model',
        parts: [
          { text: 'I calculate.' },
          { executableCode: { language: 'PYTHON', code: 'print(6 * 7)' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
          { text: 'It is 42.' },
        ],
      },
      finishReason: 'STOP',
    },
  ],
};
const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'look_up', args: { what: 'sides of a die' } }] })),
    jsonReply(code),
    jsonReply(wireResponse('It was 42.')),
    transfer('Coder'),
    jsonReply(code),
    jsonReply(wireResponse('Still 42.')),
  ],
  async main(tell) {
    await converse(tell, calculator, ['Seven times the sides of a die?', 'What was it?']);
    await converse(tell, chief, ['Calculate.', 'What was it?']);
  },
};
export default program;
