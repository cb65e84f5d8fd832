import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const lamps: Record<string, { room: string; on: boolean }> = {
  lamp_1: { room: 'kitchen', on: true },
  lamp_2: { room: 'hall', on: false },
};
const info = new FunctionTool({
  name: 'info',
  description: 'Returns a lamp, or an error.',
  parameters: z.object({ lamp: z.string() }),
  execute: ({ lamp }) => lamps[lamp] ?? { error: 'There is no such lamp.' },
});
const turn = new FunctionTool({
  name: 'turn',
  description: 'Turns a lamp on or off.',
  parameters: z.object({ lamp: z.string(), on: z.boolean() }),
  execute: ({ lamp, on }) => {
    const found = lamps[lamp];
    if (!found) return 'There is no such lamp.';
    found.on = on;
    return `${lamp} is ${on ? 'on' : 'off'}.`;
  },
});
const list = new FunctionTool({
  name: 'list',
  description: 'Lists the lamps.',
  parameters: z.object({ room: z.string().default(''), limit: z.number().int().default(10) }),
  execute: ({ room, limit }) =>
    Object.entries(lamps)
      .filter(([, lamp]) => room === '' || lamp.room === room)
      .slice(0, limit)
      .map(([name, lamp]) => ({ name, ...lamp })),
});
const even = new FunctionTool({
  name: 'is_even',
  description: 'Tells even numbers.',
  parameters: z.object({ number: z.number().int().describe('The number.') }),
  execute: ({ number }) => number % 2 === 0,
});
const agent = new LlmAgent({
  name: 'home',
  model: 'gemini-flash-latest',
  description: 'Controls lamps.',
  instruction: 'Use the tools.',
  tools: [info, turn, list, even],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'turn', args: { lamp: 'lamp_2', on: true } }] })),
    jsonReply(wireResponse('It is on.')),
    jsonReply(
      wireResponse({
        calls: [
          { name: 'list', args: {} },
          { name: 'list', args: { room: 'attic' } },
          { name: 'info', args: { lamp: 'lamp_3' } },
          { name: 'is_even', args: { number: 44 } },
          { name: 'is_even', args: { number: 45 } },
        ],
      }),
    ),
    jsonReply(wireResponse('Two lamps.')),
    jsonReply(wireResponse({ calls: [{ name: 'is_even', args: { number: 'many' } }] })),
    jsonReply(wireResponse('Nobody knows.')),
  ],
  main: (tell) => converse(tell, agent, ['Light in the hall.', 'All lamps?', 'Is many even?']),
};
export default program;
