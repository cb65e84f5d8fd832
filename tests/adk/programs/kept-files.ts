import { Buffer } from 'node:buffer';
import { FunctionTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const remember = new FunctionTool({
  name: 'remember',
  description: 'Remembers a value.',
  parameters: z.object({ key: z.string(), value: z.string() }),
  execute: ({ key, value }, toolContext) => {
    toolContext?.state.set(key, value);
    return { status: `${key} is ${value}` };
  },
});
const recall = new FunctionTool({
  name: 'recall',
  description: 'Recalls a value.',
  parameters: z.object({ key: z.string() }),
  execute: ({ key }, toolContext) => ({ [key]: toolContext?.state.get(key) ?? null }),
});
const save = new FunctionTool({
  name: 'save',
  description: 'Saves a file.',
  parameters: z.object({ filename: z.string(), content: z.string() }),
  execute: async ({ filename, content }, toolContext) => {
    const data = Buffer.from(content).toString('base64');
    const version = await toolContext?.saveArtifact(filename, { inlineData: { mimeType: 'text/plain', data } });
    return { filename, version };
  },
});
const load = new FunctionTool({
  name: 'load',
  description: 'Loads a file.',
  parameters: z.object({ filename: z.string() }),
  execute: async ({ filename }, toolContext) => {
    const artifact = await toolContext?.loadArtifact(filename);
    if (!artifact) return { error: `There is no ${filename}.` };
    return { filename, content: Buffer.from(artifact.inlineData?.data ?? '', 'base64').toString() };
  },
});
const agent = new LlmAgent({
  name: 'clerk',
  model: 'gemini-flash-latest',
  instruction: 'Keep values and files.',
  tools: [remember, recall, save, load],
});

const calls = [
  { name: 'recall', args: { key: 'colour' } },
  { name: 'remember', args: { key: 'colour', value: 'red' } },
  { name: 'recall', args: { key: 'colour' } },
  { name: 'load', args: { filename: 'a.txt' } },
  { name: 'save', args: { filename: 'a.txt', content: 'first' } },
  { name: 'save', args: { filename: 'a.txt', content: 'second' } },
  { name: 'load', args: { filename: 'a.txt' } },
];
const program: Program = {
  replies: [...calls.map((call) => jsonReply(wireResponse({ calls: [call] }))), jsonReply(wireResponse('Done.'))],
  main: (tell) => converse(tell, agent, ['Keep these things.']),
};
export default program;
