import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const bare = new LlmAgent({ name: 'bare', model: 'gemini-flash-latest' });
const note = new FunctionTool({
  name: 'note',
  description: '',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => {
    console.log(text);
  },
});
const writer = new LlmAgent({
  name: 'writer',
  model: 'gemini-flash-latest',
  description: 'Writes notes.',
  instruction: 'Write a note.\n    ',
  tools: [note],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse('Yes?')),
    jsonReply(wireResponse({ calls: [{ name: 'note', args: { text: 'Hello.' } }] })),
    jsonReply(wireResponse('It is written.')),
  ],
  async main(tell) {
    await converse(tell, bare, ['go']);
    await converse(tell, writer, ['Hello.']);
  },
};
export default program;
