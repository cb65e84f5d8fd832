import {
  type Context,
  FunctionTool,
  GcsArtifactService,
  InMemoryArtifactService,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type SingleAgentCallback,
} from '@google/adk';
import { createPartFromBase64, createUserContent, type Part } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { Buffer } from 'node:buffer';
import { z } from 'zod';
import type { Program } from '../stage.ts';

async function save(context: Context, name: string, text: string): Promise<string> {
  const file: Part = createPartFromBase64(Buffer.from(text).toString('base64'), 'application/pdf');
  try {
    return `${name} has version ${await context.saveArtifact(name, file)}`;
  } catch (error) {
    return `not saved: ${error instanceof Error}`;
  }
}

async function read(context: Context, name: string): Promise<string> {
  try {
    const file = await context.loadArtifact(name);
    if (!file?.inlineData) return `${name} does not exist`;
    const { data = '', mimeType } = file.inlineData;
    return `${name} is ${mimeType} with ${Buffer.from(data, 'base64').length} bytes`;
  } catch (error) {
    return `not read: ${error instanceof Error}`;
  }
}

async function list(context: Context): Promise<string> {
  try {
    return (await context.listArtifacts()).map((name) => `- ${name}`).join('\n') || 'no files';
  } catch (error) {
    return `not listed: ${error instanceof Error}`;
  }
}

/** Notes the files of the session in its state. */
function noteFiles(key: string): SingleAgentCallback {
  return async (context) => {
    context.state.set(key, await list(context));
    return undefined;
  };
}

const file = new FunctionTool({
  name: 'file',
  description: 'Files a report.',
  parameters: z.object({ text: z.string() }),
  execute: async ({ text }, context) => {
    if (!context) return 'no context';
    const saved = [await save(context, 'report.pdf', text), await save(context, 'user:settings.pdf', '{}')];
    return { saved, read: await read(context, 'report.pdf'), none: await read(context, 'x.pdf') };
  },
});
const agent = new LlmAgent({
  name: 'registrar',
  model: 'gemini-flash-latest',
  instruction: 'File reports.',
  tools: [file],
  beforeAgentCallback: noteFiles('before'),
  afterAgentCallback: noteFiles('after'),
});

const program: Program = {
  replies: ['First.', 'Second.', 'Third.'].flatMap((text) => [
    jsonReply(wireResponse({ calls: [{ name: 'file', args: { text } }] })),
    jsonReply(wireResponse('It is filed.')),
  ]),
  async main(tell) {
    const { inlineData } = createPartFromBase64(Buffer.from([0x89, 0x50]).toString('base64'), 'image/png');
    tell({ inlineData });
    tell(typeof new GcsArtifactService('reports').saveArtifact);
    const sessionService = new InMemorySessionService();
    const artifactService = new InMemoryArtifactService();
    const filing = new Runner({ agent, appName: 'registry', sessionService, artifactService });
    const without = new Runner({ agent, appName: 'registry', sessionService });
    for (const [runner, sessionId] of [
      [filing, 'one'],
      [filing, 'two'],
      [without, 'three'],
    ] as const) {
      await sessionService.createSession({ appName: 'registry', userId: 'ann', sessionId });
      const newMessage = createUserContent('File it.');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
      const session = await sessionService.getSession({ appName: 'registry', userId: 'ann', sessionId });
      tell({ state: { ...session?.state } });
    }
  },
};
export default program;
