import { expect, test } from 'vitest';
import { z } from 'zod';
import { answerOf, setUp } from './fixtures/attempted-graph.ts';

test('a node gets the parsed input, and the next node gets the parsed output', async () => {
  const inputSchema = z.string().transform((text) => text.length);
  const outputSchema = z.object({ size: z.number(), unit: z.string().default('letters') });
  const json = { '~standard': { ...inputSchema['~standard'], jsonSchema: z.string()['~standard'].jsonSchema } };
  const { run } = await setUp((size) => ({ size }), { inputSchema: json as never, outputSchema });
  expect(JSON.parse(answerOf(await run('four')) ?? '')).toEqual({ size: 4, unit: 'letters' });
});

test('an input that does not match fails the node without a retry', async () => {
  let attempts = 0;
  const { run } = await setUp(() => attempts++, {
    inputSchema: z.string().min(5),
    retry: { maxAttempts: 3, initialDelayMs: 0 },
  });
  await expect(run('hi')).rejects.toThrow(/node "work": its input does not match/);
  expect(attempts).toBe(0);
});

test('an output that does not match is retried and fails the node in the end', async () => {
  let attempts = 0;
  const { run } = await setUp(() => (attempts++ === 0 ? 'no number' : 5), {
    outputSchema: z.number(),
    retry: { maxAttempts: 2, initialDelayMs: 0 },
  });
  expect(answerOf(await run())).toBe('5');
  const bad = await setUp(() => 'no number', { outputSchema: z.number() });
  await expect(bad.run()).rejects.toThrow(/node "work": its output does not match/);
});

test('an output that is not JSON throws an error that names the node', async () => {
  const { run } = await setUp(() => ({ at: 10n }));
  await expect(run()).rejects.toThrow(/node "work": its output at at is a bigint/);
});
