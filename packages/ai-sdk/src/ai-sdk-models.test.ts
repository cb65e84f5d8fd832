import { ConfigurationError, type ModelResolver, stringifyContent } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, test } from 'vitest';
import { AiSdkLlm } from './ai-sdk-llm.ts';
import { aiSdkModels } from './ai-sdk-models.ts';
import { FINISH, STOP, streamOf, textParts, USAGE } from './fixtures/mock-model.ts';

/** A provider whose models reply with their own names. */
const provider = (name: string) => ({
  languageModel: (modelId: string) =>
    new MockLanguageModelV4({
      provider: `${name}.chat`,
      modelId,
      doGenerate: () =>
        Promise.resolve({
          content: [{ type: 'text', text: `${name} ${modelId}` }],
          finishReason: STOP,
          usage: USAGE,
          warnings: [],
        }),
      doStream: () => Promise.resolve({ stream: streamOf([...textParts(name, ' ', modelId), FINISH]) }),
    }),
});
const providers = { openai: provider('openai'), ollama: provider('ollama') };

async function ask(model: string, models: ModelResolver): Promise<string[]> {
  const agent = new LlmAgent({ name: 'helper', model });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent, models, sessionService, autoCreateSession: true });
  const newMessage = { role: 'user', parts: [{ text: 'Who are you?' }] };
  const events = await runner.run({ userId: 'ann', sessionId: 's', newMessage });
  await runner.close();
  return events.map((event) => stringifyContent(event));
}

test('a runner finds the model of an agent by the names of its provider and of the model', async () => {
  const models = aiSdkModels(providers);
  expect(await ask('openai:gpt-5', models)).toEqual(['openai gpt-5']);
  expect(await ask('ollama:llama3.2:1b', models)).toEqual(['ollama llama3.2:1b']);
});

test('blanks around the name of a model are ignored', () => {
  expect(aiSdkModels(providers)('openai: gpt-5 ')?.model).toBe('gpt-5');
});

test('names of other providers are left to another resolver', async () => {
  const models = aiSdkModels(providers);
  expect(['gpt-5', 'mistral:large', 'toString:x', ':gpt-5'].map((name) => models(name))).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
  const others = aiSdkModels({ mistral: provider('mistral') });
  expect(await ask('mistral:large', (name) => models(name) ?? others(name))).toEqual(['mistral large']);
  await expect(ask('mistral:large', models)).rejects.toThrow('do not resolve the model "mistral:large"');
});

test('the models are found by the given separator and have the given options', async () => {
  const models = aiSdkModels(providers, { separator: '/', capabilities: { tools: false } });
  expect(models('openai:gpt-5')).toBeUndefined();
  const model = models('openai/gpt-5');
  expect(model).toBeInstanceOf(AiSdkLlm);
  expect(model?.capabilities().tools).toBe(false);
});

test.each([
  [() => aiSdkModels({ openai: provider('openai').languageModel('gpt-5') } as never), 'openai: expected a provider'],
  [() => aiSdkModels('openai' as never), 'expected an object of providers, got a string'],
  [() => aiSdkModels(providers, { separator: '' }), 'separator: expected a text that is not empty'],
  [() => aiSdkModels(providers, { apiKey: 'k' } as never), 'give it to the provider'],
  [
    () => aiSdkModels(providers, { capabilities: { tool: false } as never }),
    'aiSdkModels: capabilities: has no option "tool"',
  ],
  [() => aiSdkModels(providers)('openai: '), '"openai: " has no name of a model; write one after it'],
  [() => aiSdkModels(providers)('openai:'), '"openai:" has no name of a model; write one after it, as in openai:gpt-5'],
])('a mistake is refused with what to write: %#', (attempt, message) => {
  expect(attempt).toThrow(ConfigurationError);
  expect(attempt).toThrow(message);
});
