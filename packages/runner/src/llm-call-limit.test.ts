import { LlmCallLimitError } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

// Limits.

const calling = { calls: [{ name: 'f', args: {} }] };

const f = new FunctionTool({ name: 'f', description: '', execute: () => 'again' });

test('exactly maxLlmCalls model calls are allowed', async () => {
  const allowed = await scenario({ model: [calling, calling, 'done'], agent: { tools: [f] } });
  expect((await allowed.run('hi', { runConfig: { maxLlmCalls: 3 } })).at(-1)).toMatchObject({
    content: { parts: [{ text: 'done' }] },
  });

  const { model, run, stored } = await scenario({ model: [calling, calling, 'never'], agent: { tools: [f] } });
  await expect(run('hi', { runConfig: { maxLlmCalls: 2 } })).rejects.toBeInstanceOf(LlmCallLimitError);
  expect(model.calls).toBe(2);
  expect((await stored()).at(-1)).toMatchObject({ author: 'bot', errorCode: 'LLM_CALL_LIMIT' });
});

test('maxLlmCalls counts per run, not per session', async () => {
  const { run } = await scenario({ model: ['one', 'two'] });
  await run('a', { runConfig: { maxLlmCalls: 1 } });
  await run('b', { runConfig: { maxLlmCalls: 1 } });
});

test.each([0, -1])('maxLlmCalls %i means no limit', async (maxLlmCalls) => {
  const steps = Array.from({ length: 600 }, () => calling);
  const { run } = await scenario({ model: [...steps, 'done'], agent: { tools: [f] } });
  expect(await run('hi', { runConfig: { maxLlmCalls } })).toHaveLength(1201);
});

test('by default 500 model calls are allowed', async () => {
  const { model, run } = await scenario({ model: Array.from({ length: 501 }, () => calling), agent: { tools: [f] } });
  await expect(run()).rejects.toBeInstanceOf(LlmCallLimitError);
  expect(model.calls).toBe(500);
});
