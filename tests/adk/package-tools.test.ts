import { getFunctionResponses, InMemoryRunner, LlmAgent, type ToolUnion } from '@eventloom/adk';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { BaseToolset, type BaseTool, FunctionTool, GOOGLE_SEARCH } from '@google/adk';
import { expect, test } from 'vitest';
import { z } from 'zod';

// The tools of this file are those of a package that imports @google/adk itself, so changed imports do not reach them.

const lookUp = new FunctionTool({
  name: 'look_up',
  description: 'Looks a word up.',
  parameters: z.object({ word: z.string() }),
  execute: async ({ word }, context) => {
    context?.state.set('word', word);
    await context?.saveArtifact('word.txt', { text: word });
    return { word, agent: context?.agentName };
  },
});

class Dictionary extends BaseToolset {
  isClosed = false;

  override async getTools(): Promise<BaseTool[]> {
    return [lookUp];
  }

  override async close(): Promise<void> {
    this.isClosed = true;
  }
}

async function runWith(tool: ToolUnion, replies: readonly ScriptedStep[]) {
  const model = new ScriptedModel(replies, { model: 'gemini-flash-latest' });
  const agent = new LlmAgent({ name: 'helper', model, tools: [tool] });
  const runner = new InMemoryRunner({ agent, appName: 'words' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'words', userId: 'ann' });
  const events = await runner.run({ userId: 'ann', sessionId, newMessage: { parts: [{ text: 'A skiff?' }] } });
  return { runner, events, request: model.requests[0]?.request };
}

const called = { calls: [{ name: 'look_up', args: { word: 'skiff' } }] };

test('a tool of a package that imports @google/adk runs in an agent of @eventloom/adk', async () => {
  const { events, request } = await runWith(lookUp, [called, 'A small boat.']);
  expect(request?.config.tools).toMatchObject([{ functionDeclarations: [{ name: 'look_up' }] }]);
  const response = events.find((event) => getFunctionResponses(event).length > 0);
  expect(response && getFunctionResponses(response)[0]?.response).toEqual({ word: 'skiff', agent: 'helper' });
  expect(response?.actions).toMatchObject({ stateDelta: { word: 'skiff' }, artifactDelta: { 'word.txt': 0 } });
});

test('the model reads the error of such a tool', async () => {
  const { events } = await runWith(lookUp, [{ calls: [{ name: 'look_up', args: {} }] }, 'No word.']);
  const response = events.find((event) => getFunctionResponses(event).length > 0);
  expect(response && getFunctionResponses(response)[0]?.response).toEqual({ error: expect.stringContaining('word') });
});

test('a toolset of such a package lists its tools, and is closed after the run', async () => {
  const dictionary = new Dictionary([]);
  const { request } = await runWith(dictionary, ['Hello.']);
  expect(request?.config.tools).toMatchObject([{ functionDeclarations: [{ name: 'look_up' }] }]);
  expect(dictionary.isClosed).toBe(true);
});

test('a tool that the model runs itself adds its own entry to the request', async () => {
  const { request } = await runWith(GOOGLE_SEARCH, ['Hello.']);
  expect(request?.config.tools).toEqual([{ googleSearch: {} }]);
});
