import { getFunctionCalls, ModelError, stringifyContent } from '@eventloom/core';
import type { ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { play } from './fixtures/play.ts';
import { ReflectAndRetryModelPlugin } from './reflect-and-retry-model-plugin.ts';

const malformed: ScriptedStep = {
  response: { finishReason: 'MALFORMED_FUNCTION_CALL', errorMessage: 'no closing bracket' },
};

test('the model gets the failure of its reply, and answers again', async () => {
  const { run, model } = await play({ plugins: [new ReflectAndRetryModelPlugin()], model: [malformed, 'Here it is.'] });
  const events = await run();
  expect(events.flatMap(getFunctionCalls)).toMatchObject([
    {
      name: 'adk_handle_model_error',
      args: { error_type: 'MALFORMED_FUNCTION_CALL', error_details: 'no closing bracket', retry_count: 1 },
    },
  ]);
  expect(events.map(stringifyContent).at(-1)).toBe('Here it is.');
  expect(events.some(({ errorCode }) => errorCode !== undefined)).toBe(false);
  const [first, second] = model.requests.map(({ request }) => request);
  expect(first?.config.tools).toBeUndefined();
  expect(second?.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
    reflection_guidance: expect.stringMatching(
      /^Your last reply could not be used: MALFORMED_FUNCTION_CALL: no closing bracket\. This is retry attempt 1 of 3\./,
    ),
  });
});

test('a run fails after maxRetries failures in a row', async () => {
  const { run } = await play({
    plugins: [new ReflectAndRetryModelPlugin({ maxRetries: 1 })],
    model: [malformed, malformed],
  });
  const failing = run();
  await expect(failing).rejects.toThrow(
    "the model's replies failed 2 times in a row: MALFORMED_FUNCTION_CALL: no closing bracket",
  );
  await expect(failing).rejects.toThrow(ModelError);
});

test('the last failed reply is passed on if the plugin may not throw', async () => {
  const plugin = new ReflectAndRetryModelPlugin({ maxRetries: 0, throwExceptionIfRetryExceeded: false });
  const { run } = await play({ plugins: [plugin], model: [malformed] });
  expect((await run()).at(-1)).toMatchObject({ errorCode: 'MALFORMED_FUNCTION_CALL' });
});

test('a model that calls the reserved function gets an error response', async () => {
  const { run, model } = await play({
    plugins: [new ReflectAndRetryModelPlugin()],
    model: [{ calls: [{ name: 'adk_handle_model_error' }] }, 'Sorry.'],
  });
  await run();
  expect(JSON.stringify(model.requests[1]?.request.contents.at(-1))).toContain(
    'RESERVED_TOOL_CALL: adk_handle_model_error must not be called',
  );
});

test('other finish reasons are repeated if they are listed', async () => {
  const step: ScriptedStep = { response: { finishReason: 'RECITATION' } };
  const plugin = new ReflectAndRetryModelPlugin({ onModelErrors: ['RECITATION'] });
  const { run } = await play({ plugins: [plugin], model: [step, 'In my own words.'] });
  expect((await run()).map(stringifyContent).at(-1)).toBe('In my own words.');
});
