import { BaseLlm, type LlmRequest, type LlmResponse, ModelError } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { AdkInMemoryRunner } from './in-memory-runner.ts';
import { AdkLlmAgent as LlmAgent } from './llm-agent.ts';
import { RoutedAgent } from './routed-agent.ts';
import { RoutedLlm } from './routed-llm.ts';
import type { RoutingErrorContext } from './routing.ts';

class FailingModel extends BaseLlm {
  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    yield await Promise.reject(new ModelError('overloaded', { errorCode: '503' }));
  }
}

const failing = new FailingModel({ model: 'failing' });
const answering = () => new ScriptedModel([{ text: 'Hello.' }]);
const newMessage = { parts: [{ text: 'Hi' }] };

async function textsOf(
  agent: ConstructorParameters<typeof AdkInMemoryRunner>[0]['agent'],
): Promise<(string | undefined)[]> {
  const runner = new AdkInMemoryRunner({ agent });
  const texts: (string | undefined)[] = [];
  for await (const { author, content } of runner.runEphemeral({ userId: 'u', newMessage }))
    texts.push(`${author}: ${content?.parts?.[0]?.text}`);
  return texts;
}

const firstThenSecond = (_items: unknown, _context: unknown, error?: RoutingErrorContext): string | undefined =>
  error === undefined ? 'first' : error.failedKeys.has('first') ? 'second' : undefined;

describe('RoutedLlm', () => {
  test('calls the next model when the first one fails before its response', async () => {
    const model = new RoutedLlm({ models: { first: failing, second: answering() }, router: firstThenSecond });
    await expect(textsOf(new LlmAgent({ name: 'helper', model }))).resolves.toEqual(['helper: Hello.']);
  });

  test('fails with the error of the model when the router chooses no other model', async () => {
    const model = new RoutedLlm({ models: [failing], router: () => 'failing' });
    const runner = new AdkInMemoryRunner({ agent: new LlmAgent({ name: 'helper', model }) });
    const said = [];
    for await (const { errorMessage } of runner.runEphemeral({ userId: 'u', newMessage })) said.push(errorMessage);
    expect(said).toEqual(['overloaded']);
  });

  test('throws when the router chooses a key that does not exist', async () => {
    const model = new RoutedLlm({ models: { first: failing }, router: () => 'third' });
    await expect(textsOf(new LlmAgent({ name: 'helper', model }))).rejects.toThrow(
      'the router returned the unknown key "third"; return one of first',
    );
  });
});

test.each([
  [{}, 'RoutedLlm: models: expected models by name, or a list, got nothing; write models: { quick, thorough }'],
  [{ models: ['x'] }, 'RoutedLlm: models[0]: expected a model object, got a string; write models: { quick, thorough }'],
])('RoutedLlm refuses the options %j', (options, message) => {
  expect(() => new RoutedLlm({ router: () => 'x', ...options } as never)).toThrow(message);
});

describe('RoutedAgent', () => {
  test('runs the agent that the router chooses', async () => {
    const agents = [
      new LlmAgent({ name: 'quick', model: answering() }),
      new LlmAgent({ name: 'thorough', model: failing }),
    ];
    const agent = new RoutedAgent({ name: 'routed', agents, router: () => 'quick' });
    await expect(textsOf(agent)).resolves.toEqual(['quick: Hello.']);
  });

  test('runs the next agent when the first one fails before its first event', async () => {
    const agents = {
      first: new LlmAgent({ name: 'quick', model: failing }),
      second: new LlmAgent({ name: 'thorough', model: answering() }),
    };
    const agent = new RoutedAgent({ name: 'routed', agents, router: firstThenSecond });
    await expect(textsOf(agent)).resolves.toEqual(['thorough: Hello.']);
  });
});
