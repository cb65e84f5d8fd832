import { BaseLlm, type LlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

/** A model that fails after an asynchronous wait, like one that is called over the network. */
class WaitingModel extends BaseLlm {
  stack = '';

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    await Promise.resolve();
    this.stack = new Error('where is this').stack ?? '';
    yield { content: { role: 'model', parts: [{ text: 'ok' }] } };
  }
}

test("an asynchronous stack inside a model names the agent's loop and the run", async () => {
  const model = new WaitingModel({ model: 'waiting' });
  const { run } = await scenario({ agent: new LlmAgent({ name: 'bot', model }) });
  await run();
  const calls = Array.from(model.stack.matchAll(/at (?:async )?([\w.]+) \(/g), ([, name]) => name);
  expect(calls).toEqual(expect.arrayContaining(['WaitingModel.generateContentAsync', 'runSteps', 'run']));
});
