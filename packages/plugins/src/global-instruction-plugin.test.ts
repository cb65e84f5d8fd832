import { ConfigurationError, CallbackContext, createLlmRequest } from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { play } from './fixtures/play.ts';
import { GlobalInstructionPlugin } from './global-instruction-plugin.ts';

test.each([
  ['a text with a placeholder', 'Answer in {language}.'],
  [
    'a function',
    async ({ state }: { state: { get(key: string): unknown } }) => `Answer in ${String(state.get('language'))}.`,
  ],
] as const)('%s is placed before the instruction of the agent', async (_, instruction) => {
  const { run, model } = await play({
    plugins: [new GlobalInstructionPlugin(instruction)],
    model: ['Salut.'],
    agent: { instruction: 'Be brief.' },
    state: { language: 'French' },
  });
  await run();
  expect(model.requests[0]?.request.config.systemInstruction).toMatch(/^Answer in French\.\n\nBe brief\./);
});

test.each([
  [undefined, 'Global.'],
  [
    ['a', 'b'],
    ['Global.', 'a', 'b'],
  ],
  [{ parts: [{ text: 'a' }] }, ['Global.', { parts: [{ text: 'a' }] }]],
])('a system instruction %j is kept', async (own, expected) => {
  const llmRequest = createLlmRequest();
  llmRequest.config.systemInstruction = own;
  const callbackContext = new CallbackContext({ invocationContext: testContext() });
  await new GlobalInstructionPlugin('Global.').beforeModelCallback({ callbackContext, llmRequest });
  expect(llmRequest.config.systemInstruction).toEqual(expected);
});

test('the request is unchanged without an instruction', async () => {
  const { run, model } = await play({ plugins: [new GlobalInstructionPlugin()], model: ['Hi.'] });
  await run();
  expect(model.requests[0]?.request.config.systemInstruction).toBe('You are an agent. Your internal name is "bot".');
});

test('a value that is neither a text nor a function is refused', () => {
  const make = () => new GlobalInstructionPlugin(5 as never);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(
    "expected a string or a function of the context, got the number 5; write new GlobalInstructionPlugin('Be brief.')",
  );
});

test('a function that does not return a text fails the run, and the model is not called', async () => {
  const { run, model } = await play({
    plugins: [new GlobalInstructionPlugin(() => undefined as never)],
    model: ['Hi.'],
  });
  await expect(run()).rejects.toThrow(
    "GlobalInstructionPlugin: expected a string as the result of the function, got nothing; write return 'Answer in one sentence.'",
  );
  expect(model.calls).toBe(0);
});
