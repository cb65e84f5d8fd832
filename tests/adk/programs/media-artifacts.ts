import { Buffer } from 'node:buffer';
import { FunctionTool, LlmAgent, LoadArtifactsTool } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const kinds: Readonly<Record<string, readonly [filename: string, mimeType: string, content: string]>> = {
  text: ['notes.txt', 'text/plain', 'Line one.'],
  html: ['page.html', 'text/html', '<h1>Title</h1>'],
  picture: ['square.bmp', 'image/bmp', 'BM'],
  sound: ['tone.wav', 'audio/wav', 'RIFF'],
  json: ['data.json', 'application/json', '{"a":1}'],
  archive: ['all.zip', 'application/zip', 'PK'],
};
const generate = new FunctionTool({
  name: 'generate',
  description: 'Generates a file.',
  parameters: z.object({ kind: z.string().describe('text, html, picture, sound, json or archive').default('text') }),
  execute: async ({ kind }, toolContext) => {
    const found = kinds[kind];
    if (!found) return { error: `There is no ${kind}.` };
    const [filename, mimeType, content] = found;
    const data = Buffer.from(content).toString('base64');
    const version = await toolContext?.saveArtifact(filename, { inlineData: { data, mimeType } });
    return { message: `${filename} is saved.`, version };
  },
});
const agent = new LlmAgent({
  name: 'studio',
  model: 'gemini-flash-latest',
  instruction: 'Generate and load files.',
  tools: [generate, new LoadArtifactsTool()],
});

const generated = ['text', 'html', 'picture', 'sound', 'json', 'archive', 'film'].map((kind) => ({
  name: 'generate',
  args: { kind },
}));
const program: Program = {
  replies: [
    ...generated.map((call) => jsonReply(wireResponse({ calls: [call] }))),
    jsonReply(wireResponse({ calls: [{ name: 'generate', args: {} }] })),
    jsonReply(wireResponse('They are saved.')),
    jsonReply(
      wireResponse({
        calls: [
          {
            name: 'load_artifacts',
            args: { artifact_names: ['notes.txt', 'page.html', 'square.bmp', 'tone.wav', 'data.json', 'all.zip', 'x'] },
          },
        ],
      }),
    ),
    jsonReply(wireResponse('I see them.')),
  ],
  main: (tell) => converse(tell, agent, ['Generate all.', 'Look at them.']),
};
export default program;
