import { getFunctionResponses, InMemoryRunner, LlmAgent, type ToolUnion } from '@eventloom/adk';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import {
  ApigeeLlm,
  BaseToolset,
  type BaseTool,
  FunctionTool,
  GOOGLE_SEARCH,
  LlmAgent as AgentOfAdk,
  LoggingPlugin,
} from '@google/adk';
import { describe, expect, test } from 'vitest';
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

describe('of a package that imports @google/adk itself', () => {
  const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([]) });
  const refusal = (message: string) => expect.objectContaining({ code: 'CONFIGURATION', message });

  test('a model is refused, and the error says what to write', () => {
    const model = new ApigeeLlm({
      model: 'apigee/gemini-flash-latest',
      proxyUrl: 'https://apigee.example',
      apiKey: 'key',
    });
    expect(() => new LlmAgent({ name: 'helper', model: model as never })).toThrow(
      refusal(
        'agent "helper": model: is a model of another library, as of @google/adk; write a class that extends BaseLlm of eventloom/adk, or new AiSdkLlm(model) of @eventloom/ai-sdk',
      ),
    );
  });

  test('a plugin is refused, and the error says what to write', () => {
    const plugins = [new LoggingPlugin() as never];
    expect(() => new InMemoryRunner({ agent, plugins })).toThrow(
      refusal(
        'Runner: plugin "logging_plugin": is a plugin of another library, as of @google/adk; write a class that extends BasePlugin of eventloom/adk',
      ),
    );
  });

  test('an agent is refused, and the error says what to write', () => {
    const foreign = new AgentOfAdk({ name: 'foreign', model: 'gemini-flash-latest' });
    expect(() => new InMemoryRunner({ agent: foreign as never })).toThrow('Runner: agent: expected an agent');
    expect(() => new LlmAgent({ name: 'root', subAgents: [foreign as never] })).toThrow(
      'agent "root": subAgents[0]: expected an agent, got an object of the class LlmAgent',
    );
  });
});
