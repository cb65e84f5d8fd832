import {
  BaseAgent,
  BaseLlm,
  BaseTool,
  BaseToolset,
  ConfigurationError,
  type Event,
  StateKeyError,
} from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { LlmAgent } from './llm-agent.ts';
import { isLlmAgent, type LlmAgentConfig } from './llm-agent-config.ts';

const model = new ScriptedModel([]);

function agentOf(config: object = {}): LlmAgent {
  return new LlmAgent({ name: 'bot', model, ...config } as LlmAgentConfig);
}

function toolOf(name: string): FunctionTool {
  return new FunctionTool({ name, description: '', execute: () => '' });
}

class Tools extends BaseToolset {
  isClosed = false;

  override async getTools(): Promise<BaseTool[]> {
    return [];
  }

  override async close(): Promise<void> {
    this.isClosed = true;
  }
}

/** A model without its one required method, as a program in JavaScript can write it. */
class Mute extends (BaseLlm as unknown as new (options: { model: string }) => object) {}

test('LlmAgent uses neutral defaults for options that are not given', () => {
  expect(agentOf()).toMatchObject({
    name: 'bot',
    description: '',
    instruction: '',
    globalInstruction: '',
    staticInstruction: '',
    tools: [],
    includeContents: 'default',
    outputKey: undefined,
    outputSchema: undefined,
    disallowTransferToParent: false,
    disallowTransferToPeers: false,
    beforeModelCallback: [],
    afterToolCallback: [],
  });
});

test('LlmAgent stores one callback as a list and copies a list of callbacks', () => {
  const callback = () => undefined;
  const tools = [toolOf('f')];
  const agent = agentOf({ tools, beforeModelCallback: callback, afterModelCallback: [callback, callback] });
  tools.push(toolOf('g'));
  expect(agent.tools).toHaveLength(1);
  expect(agent.beforeModelCallback).toEqual([callback]);
  expect(agent.afterModelCallback).toEqual([callback, callback]);
});

test.each([
  ['no name', { name: undefined }, "name is missing; write new LlmAgent({ name: 'helper', … })"],
  ['a name that is not an identifier', { name: 'my agent' }, 'agent name: expected letters, digits, _, $ and -'],
  ['the name of the user', { name: 'user' }, 'is reserved'],
  [
    'an empty model name',
    { model: '' },
    'agent "bot": model: expected the name of a model or a model object, got a string',
  ],
  [
    'an object that generates content and is not a model',
    { model: { model: 'x', generateContentAsync: () => undefined } },
    'agent "bot": model: its class does not extend BaseLlm; write class MyModel extends BaseLlm { … }',
  ],
  [
    'a model without generateContentAsync',
    { model: new Mute({ model: 'x' }) },
    'agent "bot": model: Mute has no method generateContentAsync; write async *generateContentAsync(request) { yield … } in it',
  ],
  ['an invalid model', { model: {} }, 'model: expected the name of a model or a model object, got an object'],
  [
    'a model of the AI SDK',
    { model: { specificationVersion: 'v3', doGenerate: () => undefined } },
    'got an object; write model: new AiSdkLlm(model), of @eventloom/ai-sdk',
  ],
  [
    'an unknown option',
    { temperature: 1 },
    'agent "bot": has no option "temperature"; write it in generateContentConfig',
  ],
  ['a misspelt option', { instructions: '' }, 'agent "bot": has no option "instructions"; did you mean "instruction"?'],
  ['an invalid sub-agent', { subAgents: [{}] }, 'agent "bot": subAgents[0]: expected an agent'],
  [
    'tools as an option of the model',
    { generateContentConfig: { tools: [] } },
    'generateContentConfig.tools is set by the agent; use tools',
  ],
  [
    'a system instruction as an option of the model',
    { generateContentConfig: { systemInstruction: '' } },
    'use instruction',
  ],
  [
    'a response schema as an option of the model',
    { generateContentConfig: { responseSchema: {} } },
    'use outputSchema',
  ],
  [
    'a JSON schema as an option of the model',
    { generateContentConfig: { responseJsonSchema: {} } },
    'use outputSchema',
  ],
  [
    'a misspelt option of the model',
    { generateContentConfig: { temprature: 0 } },
    'agent "bot": generateContentConfig has no option "temprature"; did you mean "temperature"?',
  ],
  [
    'an option of the model in snake case',
    { generateContentConfig: { max_output_tokens: 5 } },
    'did you mean "maxOutputTokens"?',
  ],
  [
    'an option that another SDK calls like this',
    { generateContentConfig: { maxTokens: 5 } },
    'generateContentConfig has no option "maxTokens"; did you mean "maxOutputTokens"?',
  ],
  [
    'a choice of tools under the name of another SDK',
    { generateContentConfig: { tool_choice: 'any' } },
    'did you mean "toolConfig"?',
  ],
  [
    'a tool that is not defined yet',
    { tools: [toolOf('now'), undefined] },
    'tools[1]: expected a tool or a toolset, got nothing; define',
  ],
  ['tools that are not a list', { tools: { now: toolOf('now') } }, 'agent "bot": tools: expected a list of tools'],
  [
    'a class as a tool',
    { tools: [FunctionTool] },
    'FunctionTool is a class, not a tool; write new FunctionTool({ … })',
  ],
  ['a function as a tool', { tools: [() => 1] }, 'write new FunctionTool({'],
  ['two tools with the same name', { tools: [toolOf('f'), toolOf('f')] }, 'agent "bot": two tools have the name "f"'],
  ['an invalid schema', { outputSchema: 'text' }, 'agent "bot": outputSchema: expected a schema'],
  ['a type that does not exist', { outputSchema: { type: 'objekt' } }, 'outputSchema: there is no type "objekt"'],
  ['a function as a schema', { outputSchema: () => ({}) }, 'outputSchema: expected a schema, got a function; write'],
])('LlmAgent throws a ConfigurationError for %s', (_, config, message) => {
  expect(() => agentOf(config)).toThrow(ConfigurationError);
  expect(() => agentOf(config)).toThrow(message);
});

test('LlmAgent rejects an output key that state cannot hold', () => {
  expect(() => agentOf({ outputKey: 'user:' })).toThrow(StateKeyError);
});

test('LlmAgent accepts an output schema from zod and as JSON Schema', () => {
  const json = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  expect(agentOf({ outputSchema: z.object({ n: z.number() }) }).outputValueSchema?.json).toEqual(json);
  expect(agentOf({ outputSchema: json }).outputValueSchema?.json).toEqual(json);
});

test('closing an agent closes its toolsets', async () => {
  const tools = [new Tools(), new Tools()];
  await agentOf({ tools: [...tools, toolOf('f')] }).close();
  expect(tools.map(({ isClosed }) => isClosed)).toEqual([true, true]);
});

class Silent extends BaseAgent {
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

test('isLlmAgent recognises LLM agents of another loaded copy of this package, and no other agent', async () => {
  vi.resetModules();
  const copy = await import('./index.ts');
  expect(copy.LlmAgent).not.toBe(LlmAgent);
  for (const agent of [agentOf(), new copy.LlmAgent({ name: 'bot', model: 'm' })]) {
    expect(isLlmAgent(agent)).toBe(true);
    expect(copy.isLlmAgent(agent)).toBe(true);
  }
  for (const value of [undefined, null, 'bot', LlmAgent, { name: 'bot', model }, new Silent({ name: 'bot' })])
    expect(isLlmAgent(value)).toBe(false);
});

test('LlmAgent accepts tools and toolsets of another loaded copy of core, and closes the toolsets', async () => {
  vi.resetModules();
  const core = await import('@eventloom/core');
  class ForeignTool extends core.BaseTool {
    async runAsync(): Promise<unknown> {
      return '';
    }
  }
  const close = vi.fn<() => Promise<void>>(async () => undefined);
  class ForeignTools extends core.BaseToolset {
    readonly close = close;

    async getTools(): Promise<BaseTool[]> {
      return [];
    }
  }
  const foreign = new ForeignTool({ name: 'f', description: '' });
  expect(foreign).not.toBeInstanceOf(BaseTool);
  expect(() => agentOf({ tools: [foreign, toolOf('f')] })).toThrow('two tools have the name "f"');
  await agentOf({ tools: [foreign, new ForeignTools()] }).close();
  expect(close).toHaveBeenCalledOnce();
});

test('every option of @google/genai, and those of other services, are passed to the model', () => {
  const names =
    'candidateCount responseLogprobs logprobs routingConfig modelSelectionConfig toolConfig labels cachedContent responseModalities mediaResolution speechConfig audioTimestamp automaticFunctionCalling imageConfig enableEnhancedCivicAnswers modelArmorConfig httpOptions abortSignal serviceTier audioTranscriptionConfig continuationToken automaticContinuation generationOutputConfig store user logitBias reasoningEffort verbosity parallelToolCalls'.split(
      ' ',
    );
  for (const name of names) {
    const { generateContentConfig } = new LlmAgent({ name: 'bot', generateContentConfig: { [name]: 1 } });
    expect(generateContentConfig).toEqual({ [name]: 1 });
  }
});

test('assigning the inputSchema of an agent throws ConfigurationError with what to write', () => {
  const assign = (): void => void Object.assign(agentOf(), { inputSchema: z.string() });
  expect(assign).toThrow(ConfigurationError);
  expect(assign).toThrow('agent "bot": inputSchema cannot be assigned; write new LlmAgent({ …, inputSchema })');
});

test.each([
  [{ temperature: 'hot' }, 'temperature: expected a number, got a string; write temperature: 0'],
  [{ stopSequences: '.' }, 'stopSequences: expected a list, got a string; write stopSequences: […]'],
])('an agent with the generateContentConfig %j is refused', (generateContentConfig, message) => {
  expect(() => agentOf({ generateContentConfig })).toThrow(`agent "bot": generateContentConfig: ${message}`);
});
