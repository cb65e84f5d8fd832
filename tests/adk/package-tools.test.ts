import {
  getFunctionResponses,
  getUserInputRequests,
  InMemoryRunner,
  LlmAgent,
  node,
  RoutedAgent,
  START,
  type ToolUnion,
  Workflow,
} from '@eventloom/adk';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import {
  ApigeeLlm,
  App as AppOfAdk,
  BaseToolset,
  BuiltInCodeExecutor as ExecutorOfAdk,
  type BaseTool,
  FunctionTool,
  GOOGLE_SEARCH,
  LlmAgent as AgentOfAdk,
  LoggingPlugin,
  RequestInput,
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

const adkAgent = (): never => new AgentOfAdk({ name: 'clerk' }) as never;
const adkApp = (): never => new AppOfAdk({ name: 'desk', rootAgent: new AgentOfAdk({ name: 'clerk' }) }) as never;
const adkExecutor = (): never => new ExecutorOfAdk() as never;

describe('an object of @google/adk in a program of eventloom/adk', () => {
  test('asks the person, if it is a RequestInput', async () => {
    const ask = node(() => new RequestInput({ message: 'Which city?' }), { name: 'ask' });
    const runner = new InMemoryRunner({ agent: new Workflow({ name: 'trip', edges: [[START, ask]] }) });
    const newMessage = { role: 'user', parts: [{ text: 'Go.' }] };
    const asked = [];
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage }))
      asked.push(...getUserInputRequests(event));
    expect(asked).toMatchObject([{ kind: 'input', message: 'Which city?' }]);
  });

  test.each<[string, () => unknown, string]>([
    [
      'an App',
      () => new InMemoryRunner({ app: adkApp() }),
      'Runner: app: expected an App, got an object of the class App',
    ],
    ['a root agent', () => new InMemoryRunner({ agent: adkAgent() }), 'Runner: agent: expected an agent, a workflow,'],
    [
      'a sub-agent',
      () => new LlmAgent({ name: 'a', subAgents: [adkAgent()] }),
      'agent "a": subAgents[0]: expected an agent, got an object of the class LlmAgent',
    ],
    [
      'a code executor',
      () => new LlmAgent({ name: 'a', codeExecutor: adkExecutor() }),
      'agent "a": codeExecutor: expected a code executor, got',
    ],
    ['a node', () => new Workflow({ name: 'w', edges: [[START, adkAgent()]] }), 'edges: expected a node, an agent,'],
    [
      'a routed agent',
      () => new RoutedAgent({ name: 'r', agents: [adkAgent()], router: () => 'k' }),
      'agents[0]: expected an agent',
    ],
  ])('is refused with its import, if it is %s', (_title, create, message) => {
    expect(create).toThrow(message);
    expect(create).toThrow('of @google/adk, which is to be imported from eventloom/adk');
  });
});
