import { type Event, getStructuredOutput, OutputSchemaError, StateKeyError } from '@eventloom/core';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { scenario, textOf } from './fixtures/scenario.ts';

// outputKey.

const schema = z.object({ city: z.string(), days: z.number().default(1) });

const weather = new FunctionTool({ name: 'weather', description: '', execute: () => 'clear' });

test('outputKey stores the text of the final answer with its event', async () => {
  const { run, session } = await scenario({
    model: [{ parts: [{ text: 'hm', thought: true }, { text: 'Par' }, { text: 'is' }] }],
    agent: {
      outputKey: 'answer',
    },
  });
  const events = await run();
  expect(events[0]?.actions.stateDelta).toEqual({ answer: 'Paris' });
  expect((await session()).state).toEqual({ answer: 'Paris' });
});

test('text beside a call is not the final answer', async () => {
  const steps = [{ text: 'Let me see.', calls: [{ name: 'weather', args: {} }] }, 'Clear.'];
  const { run, session } = await scenario({ model: steps, agent: { outputKey: 'answer', tools: [weather] } });
  const events = await run();
  expect(events[0]?.actions.stateDelta).toEqual({});
  expect((await session()).state).toEqual({ answer: 'Clear.' });
});

test('text beside the call of a long-running tool is stored until the final answer replaces it', async () => {
  const book = new LongRunningFunctionTool({ name: 'book', description: '', execute: () => undefined });
  const steps = [{ text: 'I am asking.', calls: [{ name: 'book', args: {}, id: 'c1' }] }, 'Booked.'];
  const { run, session } = await scenario({ model: steps, agent: { outputKey: 'answer', tools: [book] } });
  const events = await run();
  expect(events[0]?.actions.stateDelta).toEqual({ answer: 'I am asking.' });
  expect((await session()).state).toEqual({ answer: 'I am asking.' });
  await run({ functionResponse: { id: 'c1', name: 'book', response: { done: true } } });
  expect((await session()).state).toEqual({ answer: 'Booked.' });
});

test('text beside the call of a long-running tool is not stored if there is an output schema, or no text', async () => {
  const book = new LongRunningFunctionTool({ name: 'book', description: '', execute: () => undefined });
  const calls = [{ name: 'book', args: {}, id: 'c1' }];
  const agent = { outputKey: 'answer', tools: [book] };
  for (const options of [
    { model: [{ text: 'I am asking.', calls }], agent: { ...agent, outputSchema: schema } },
    { model: [{ calls }], agent },
  ]) {
    const { run, session } = await scenario(options);
    await run();
    expect((await session()).state).toEqual({});
  }
});

test('an empty answer is not stored', async () => {
  const { run, session } = await scenario({ model: [{ text: '' }], agent: { outputKey: 'answer' } });
  await run();
  expect((await session()).state).toEqual({});
});

test('outputKey may have a scope, and an invalid key is refused', async () => {
  const { run, session } = await scenario({ model: ['Paris'], agent: { outputKey: 'user:answer' } });
  await run();
  expect((await session()).state).toEqual({ 'user:answer': 'Paris' });
  await expect(scenario({ agent: { outputKey: '' } })).rejects.toThrow(StateKeyError);
});

test('the answer is stored even if a callback removed the key', async () => {
  const { run, session } = await scenario({
    model: ['Paris'],
    agent: {
      outputKey: 'answer',
      beforeModelCallback: ({ context }) => context.state.remove('answer'),
    },
  });
  await run();
  expect((await session()).state).toEqual({ answer: 'Paris' });
});

// Output schema without tools.

test('with an output schema the request has the schema, and the value is parsed', async () => {
  const { model, run, session } = await scenario({
    model: ['{"city":"Paris"}'],
    agent: { outputSchema: schema, outputKey: 'answer' },
  });
  const events = await run();
  expect(model.requests[0]?.request.config).toMatchObject({
    responseMimeType: 'application/json',
    responseJsonSchema: { type: 'object', required: ['city'] },
  });
  expect(events.map(textOf)).toEqual(['{"city":"Paris"}']);
  expect(events.map(getStructuredOutput)).toEqual([{ city: 'Paris', days: 1 }]);
  expect((await session()).state).toEqual({ answer: { city: 'Paris', days: 1 } });
});

test('a Markdown code fence around the JSON is removed', async () => {
  const { run } = await scenario({
    model: ['```json\n{"city":"Paris","days":2}\n```\n'],
    agent: { outputSchema: schema },
  });
  expect((await run()).map(getStructuredOutput)).toEqual([{ city: 'Paris', days: 2 }]);
});

test.each([
  ['newlines', '```json' + '\n'.repeat(100_000)],
  ['spaces', '```json\n{}' + ' '.repeat(100_000) + 'x'],
])('a reply that begins a fence and ends in endless %s is refused immediately', async (_, text) => {
  const { model, run } = await scenario({ model: [text, '{"city":"Paris"}'], agent: { outputSchema: schema } });
  expect((await run()).map((event) => event.errorCode)).toEqual(['OUTPUT_SCHEMA', undefined]);
  expect(model.requests).toHaveLength(2);
});

test.each([
  ['JSON Schema', { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }],
  ['the genai dialect', { type: 'OBJECT', properties: { n: { type: 'INTEGER' } }, required: ['n'] }],
])('an output schema may be %s', async (_, outputSchema) => {
  const { model, run } = await scenario({ model: ['{"n":"x"}', '{"n":1}'], agent: { outputSchema } });
  const events = await run();
  expect(events[0]).toMatchObject({ errorCode: 'OUTPUT_SCHEMA' });
  expect(getStructuredOutput(events[1] as Event)).toEqual({ n: 1 });
  expect(model.requests[0]?.request.config.responseJsonSchema).toMatchObject({
    type: 'object',
    properties: { n: { type: 'integer' } },
  });
});

test('an answer that does not match is returned to the model with the reason, and its event has the error', async () => {
  const { model, run, session } = await scenario({
    model: ['Paris', '{"city":5}', '{"city":"Paris"}'],
    agent: {
      outputSchema: schema,
      outputKey: 'answer',
    },
  });
  const events = await run();
  expect(events.map((event) => event.errorCode)).toEqual(['OUTPUT_SCHEMA', 'OUTPUT_SCHEMA', undefined]);
  expect(events[1]).toMatchObject({
    content: { parts: [{ text: '{"city":5}' }] },
    errorMessage: 'The answer does not match the schema: city: Invalid input: expected string, received number.',
  });
  expect(
    model.requests[2]?.request.contents.slice(1).map((content) => [content.role, content.parts?.[0]?.text]),
  ).toEqual([
    ['model', 'Paris'],
    ['user', expect.stringMatching(/^The answer does not match the schema: not JSON: .* Answer again with JSON/)],
    ['model', '{"city":5}'],
    ['user', expect.stringMatching(/: city: .* Answer again with JSON that matches the schema and nothing else\.$/)],
  ]);
  expect((await session()).state).toEqual({ answer: { city: 'Paris', days: 1 } });
});

test('an empty answer does not match a schema', async () => {
  const { model, run } = await scenario({ model: [{ text: '' }, '{"city":"Paris"}'], agent: { outputSchema: schema } });
  const events = await run();
  expect(events[0]).toMatchObject({ errorCode: 'OUTPUT_SCHEMA', errorMessage: expect.stringContaining('it is empty') });
  expect(model.requests[1]?.request.contents.at(-1)?.parts?.[0]?.text).toContain('it is empty');
});

test('after three corrections the run fails', async () => {
  const { model, run, session } = await scenario({
    model: ['1', '2', '3', '4'],
    agent: { outputSchema: schema, outputKey: 'answer' },
  });
  await expect(run()).rejects.toBeInstanceOf(OutputSchemaError);
  model.assertConsumed();
  const { events, state } = await session();
  expect(events.map((event) => event.errorCode)).toEqual([undefined, ...Array<string>(5).fill('OUTPUT_SCHEMA')]);
  expect(events.at(-1)).toMatchObject({
    object: 'error',
    errorMessage: expect.stringContaining('The model was asked again 3 times.'),
  });
  expect(state).toEqual({});
});

test('corrections of earlier runs do not count', async () => {
  const { run } = await scenario({
    model: ['1', '2', '3', '{"city":"A"}', '1', '2', '3', '{"city":"B"}'],
    agent: { outputSchema: schema },
  });
  await run();
  expect((await run()).at(-1)).toMatchObject({ content: { parts: [{ text: '{"city":"B"}' }] } });
});

test('an incomplete answer is not validated against the schema', async () => {
  const { run, session } = await scenario({
    model: [{ text: '{"city":"Par', response: { finishReason: 'MAX_TOKENS' } }],
    agent: {
      outputSchema: schema,
      outputKey: 'answer',
    },
  });
  const events = await run();
  expect(events).toMatchObject([{ errorCode: 'MAX_TOKENS' }]);
  expect((await session()).state).toEqual({});
});

test('a value that state cannot hold fails the run', async () => {
  const outputSchema = z.object({ when: z.string().transform((text) => new Map([[text, 1]])) });
  const { run } = await scenario({ model: ['{"when":"2026-01-01"}'], agent: { outputSchema, outputKey: 'answer' } });
  await expect(run()).rejects.toMatchObject({ code: 'STATE_VALUE' });
});
