import {
  type Context,
  createEvent,
  createSession,
  FunctionTool,
  InMemoryArtifactService,
  InMemoryMemoryService,
  InMemorySessionService,
  LlmAgent,
  Runner,
} from '@google/adk';
import { createUserContent, type Part } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

/** Reads a document, looks for memories, and saves what it found as another document. */
async function processDocument(
  params: { documentName: string; analysisQuery: string },
  context?: Context,
): Promise<Record<string, unknown>> {
  if (!context) throw new Error('there is no context');
  const artifacts = await context.listArtifacts();
  const document = await context.loadArtifact(params.documentName);
  if (!document) return { status: 'error', message: `${params.documentName} is not one of ${artifacts.join(', ')}` };
  const { memories } = await context.searchMemory(params.analysisQuery);
  const remembered = memories.map(({ content }) => content.parts?.[0]?.text).join('\n');
  const analysis: Part = { text: `${document.text} — ${remembered}` };
  const name = `analysis_${params.documentName}`;
  const version = await context.saveArtifact(name, analysis);
  return { status: 'success', analysis_artifact: name, version, text: (await context.loadArtifact(name))?.text };
}

const agent = new LlmAgent({
  name: 'analyst',
  model: 'gemini-flash-latest',
  instruction: 'Analyze documents.',
  tools: [
    new FunctionTool({
      name: 'process_document',
      description: 'Analyzes a document.',
      parameters: z.object({ documentName: z.string(), analysisQuery: z.string() }),
      execute: processDocument,
    }),
  ],
});

const call = (documentName: string) =>
  jsonReply(wireResponse({ calls: [{ name: 'process_document', args: { documentName, analysisQuery: 'growth' } }] }));
const program: Program = {
  replies: [call('missing.txt'), call('report.txt'), call('report.txt'), jsonReply(wireResponse('It grows.'))],
  async main(tell) {
    const key = { appName: 'documents', userId: 'ann', sessionId: 'one' };
    const sessionService = new InMemorySessionService();
    const memoryService = new InMemoryMemoryService();
    const artifactService = new InMemoryArtifactService();
    const runner = new Runner({ agent, appName: 'documents', sessionService, memoryService, artifactService });
    await sessionService.createSession(key);
    await artifactService.saveArtifact({ ...key, filename: 'report.txt', artifact: { text: 'Sales rise.' } });
    const past = createEvent({ author: 'user', content: createUserContent('The growth of last year was 3 %.') });
    await memoryService.addSessionToMemory(
      createSession({ id: 'past', appName: 'documents', userId: 'ann', events: [past] }),
    );
    for await (const event of runner.runAsync({
      userId: 'ann',
      sessionId: 'one',
      newMessage: createUserContent('Analyze the report.'),
    }))
      tell(event);
    tell((await artifactService.listArtifactKeys(key)).toSorted());
  },
};
export default program;
