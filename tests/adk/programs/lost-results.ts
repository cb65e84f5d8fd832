import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const find = new FunctionTool({
  name: 'find',
  description: 'Finds the kettle.',
  execute: () => ({ tags: new Set(['new']), rate: Number.NaN, failed: new Error('no stock') }),
});

const program: Program = {
  replies: [jsonReply(wireResponse({ calls: [{ name: 'find', args: {} }] })), jsonReply(wireResponse('Found it.'))],
  async main(tell) {
    await converse(tell, new LlmAgent({ name: 'shop', model: 'gemini-flash-latest', tools: [find] }), ['Find it.']);
  },
};

export default program;
