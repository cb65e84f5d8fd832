import {
  ConfigurationError,
  type Event,
  getStructuredOutput,
  OutputSchemaError,
  type RunConfig,
  StateKeyError,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig, SET_MODEL_RESPONSE } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedModelOptions, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(
  steps: readonly ScriptedStep[],
  config: Partial<LlmAgentConfig>,
  options: ScriptedModelOptions = {},
) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedModel(steps, options);
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model, ...config }),
    sessionService,
    platform,
  });
  const run = (runConfig: RunConfig = {}): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] }, runConfig });
  const session = async () => (await sessionService.getSession(KEY)) ?? expect.unreachable();
  return { model, run, session };
}

const textOf = (event: Event | undefined): string | undefined => event?.content?.parts?.[0]?.text;

const schema = z.object({ city: z.string(), days: z.number().default(1) });
const weather = new FunctionTool({ name: 'weather', description: '', execute: () => 'clear' });

// outputKey.

test('outputKey stores the text of the final answer, with the event that says it', async () => {
  const { run, session } = await setUp([{ parts: [{ text: 'hm', thought: true }, { text: 'Par' }, { text: 'is' }] }], {
    outputKey: 'answer',
  });
  const events = await run();
  expect(events[0]?.actions.stateDelta).toEqual({ answer: 'Paris' });
  expect((await session()).state).toEqual({ answer: 'Paris' });
});

test('text beside a call is not the answer', async () => {
  const steps = [{ text: 'Let me see.', calls: [{ name: 'weather', args: {} }] }, 'Clear.'];
  const { run, session } = await setUp(steps, { outputKey: 'answer', tools: [weather] });
  const events = await run();
  expect(events[0]?.actions.stateDelta).toEqual({});
  expect((await session()).state).toEqual({ answer: 'Clear.' });
});

test('an empty answer stores nothing', async () => {
  const { run, session } = await setUp([{ text: '' }], { outputKey: 'answer' });
  await run();
  expect((await session()).state).toEqual({});
});

test('outputKey may have a scope, and one that cannot be stored is refused', async () => {
  const { run, session } = await setUp(['Paris'], { outputKey: 'user:answer' });
  await run();
  expect((await session()).state).toEqual({ 'user:answer': 'Paris' });
  await expect(setUp([], { outputKey: '' })).rejects.toThrow(StateKeyError);
});

test('the answer is stored also when a callback removed the key before', async () => {
  const { run, session } = await setUp(['Paris'], {
    outputKey: 'answer',
    beforeModelCallback: ({ context }) => context.state.remove('answer'),
  });
  await run();
  expect((await session()).state).toEqual({ answer: 'Paris' });
});

// Output schema without tools.

test('with an output schema the model is told the shape, and the value is parsed', async () => {
  const { model, run, session } = await setUp(['{"city":"Paris"}'], { outputSchema: schema, outputKey: 'answer' });
  const events = await run();
  expect(model.requests[0]?.request.config).toMatchObject({
    responseMimeType: 'application/json',
    responseJsonSchema: { type: 'object', required: ['city'] },
  });
  expect(events.map(textOf)).toEqual(['{"city":"Paris"}']);
  expect(events.map(getStructuredOutput)).toEqual([{ city: 'Paris', days: 1 }]);
  expect((await session()).state).toEqual({ answer: { city: 'Paris', days: 1 } });
});

test('a fence of Markdown around the JSON is no fault', async () => {
  const { run } = await setUp(['```json\n{"city":"Paris","days":2}\n```\n'], { outputSchema: schema });
  expect((await run()).map(getStructuredOutput)).toEqual([{ city: 'Paris', days: 2 }]);
});

test.each([
  ['newlines', '```json' + '\n'.repeat(100_000)],
  ['spaces', '```json\n{}' + ' '.repeat(100_000) + 'x'],
])('a reply that begins a fence and ends in endless %s is refused at once', async (_, text) => {
  const { model, run } = await setUp([text, '{"city":"Paris"}'], { outputSchema: schema });
  expect((await run()).map((event) => event.errorCode)).toEqual(['OUTPUT_SCHEMA', undefined]);
  expect(model.requests).toHaveLength(2);
});

test.each([
  ['JSON Schema', { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }],
  ['the genai dialect', { type: 'OBJECT', properties: { n: { type: 'INTEGER' } }, required: ['n'] }],
])('an output schema may be %s', async (_, outputSchema) => {
  const { model, run } = await setUp(['{"n":"x"}', '{"n":1}'], { outputSchema });
  const events = await run();
  expect(events[0]).toMatchObject({ errorCode: 'OUTPUT_SCHEMA' });
  expect(getStructuredOutput(events[1] as Event)).toEqual({ n: 1 });
  expect(model.requests[0]?.request.config.responseJsonSchema).toMatchObject({
    type: 'object',
    properties: { n: { type: 'integer' } },
  });
});

test('an answer of the wrong shape goes back to the model with what is wrong, and is told in its event', async () => {
  const { model, run, session } = await setUp(['Paris', '{"city":5}', '{"city":"Paris"}'], {
    outputSchema: schema,
    outputKey: 'answer',
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
  const { model, run } = await setUp([{ text: '' }, '{"city":"Paris"}'], { outputSchema: schema });
  const events = await run();
  expect(events[0]).toMatchObject({ errorCode: 'OUTPUT_SCHEMA', errorMessage: expect.stringContaining('it is empty') });
  expect(model.requests[1]?.request.contents.at(-1)?.parts?.[0]?.text).toContain('it is empty');
});

test('after three corrections the run fails', async () => {
  const { model, run, session } = await setUp(['1', '2', '3', '4'], { outputSchema: schema, outputKey: 'answer' });
  await expect(run()).rejects.toBeInstanceOf(OutputSchemaError);
  model.assertConsumed();
  const { events, state } = await session();
  expect(events.map((event) => event.errorCode)).toEqual([undefined, ...Array<string>(5).fill('OUTPUT_SCHEMA')]);
  expect(events.at(-1)).toMatchObject({
    object: 'error',
    errorMessage: expect.stringContaining('It was told 3 times.'),
  });
  expect(state).toEqual({});
});

test('what was corrected in an earlier run is not counted again', async () => {
  const { run } = await setUp(['1', '2', '3', '{"city":"A"}', '1', '2', '3', '{"city":"B"}'], { outputSchema: schema });
  await run();
  expect((await run()).at(-1)).toMatchObject({ content: { parts: [{ text: '{"city":"B"}' }] } });
});

test('an answer that was cut short is not held against the schema', async () => {
  const { run, session } = await setUp([{ text: '{"city":"Par', response: { finishReason: 'MAX_TOKENS' } }], {
    outputSchema: schema,
    outputKey: 'answer',
  });
  const events = await run();
  expect(events).toMatchObject([{ errorCode: 'MAX_TOKENS' }]);
  expect((await session()).state).toEqual({});
});

test('a value that state cannot hold fails the run', async () => {
  const outputSchema = z.object({ when: z.string().transform((text) => new Date(text)) });
  const { run } = await setUp(['{"when":"2026-01-01"}'], { outputSchema, outputKey: 'answer' });
  await expect(run()).rejects.toMatchObject({ code: 'STATE_VALUE' });
});

// Output schema with tools.

const TOOLS = { outputSchema: schema, outputKey: 'answer', tools: [weather] };

test('a model that can do both is asked for the shape, and has only the agent’s tools', async () => {
  const steps = [{ calls: [{ name: 'weather', args: {} }] }, '{"city":"Paris"}'];
  const { model, run } = await setUp(steps, TOOLS, { outputSchemaWithTools: true });
  const events = await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['weather']);
  expect(model.requests[0]?.request.config.responseJsonSchema).toBeDefined();
  expect(getStructuredOutput(events[2] as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('a model that cannot is given a tool by which it hands in the answer', async () => {
  const steps = [
    { calls: [{ name: 'weather', args: {} }] },
    { calls: [{ name: SET_MODEL_RESPONSE, args: { city: 'Paris' } }] },
  ];
  const { model, run, session } = await setUp(steps, TOOLS);
  const events = await run();
  const { config, toolsDict } = model.requests[0]?.request ?? expect.unreachable();
  expect(Object.keys(toolsDict)).toEqual(['weather', SET_MODEL_RESPONSE]);
  expect(config).not.toHaveProperty('responseJsonSchema');
  expect(config.systemInstruction).toContain(`hand it in by calling ${SET_MODEL_RESPONSE}`);
  expect(events).toHaveLength(5);
  expect(events[3]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ status: 'accepted' });
  expect(events[4]).toMatchObject({
    author: 'bot',
    content: { role: 'model', parts: [{ text: '{"city":"Paris","days":1}' }] },
  });
  expect(getStructuredOutput(events[4] as Event)).toEqual({ city: 'Paris', days: 1 });
  expect((await session()).state).toEqual({ answer: { city: 'Paris', days: 1 } });
  model.assertConsumed();
});

test('the answering tool is given to each request once, also in later steps and runs', async () => {
  const handIn = { calls: [{ name: SET_MODEL_RESPONSE, args: { city: 'Paris' } }] };
  const { model, run } = await setUp([{ calls: [{ name: 'weather', args: {} }] }, handIn, handIn], TOOLS);
  await run();
  await run();
  const names = model.requests.map(({ request }) =>
    (request.config.tools as { functionDeclarations: { name: string }[] }[]).flatMap(({ functionDeclarations }) =>
      functionDeclarations.map(({ name }) => name),
    ),
  );
  expect(names).toEqual(Array<string[]>(3).fill(['weather', SET_MODEL_RESPONSE]));
});

test('an answer handed in with the wrong shape is told to the model, which can hand in another', async () => {
  const handIn = (args: Record<string, unknown>) => ({ calls: [{ name: SET_MODEL_RESPONSE, args }] });
  const { run } = await setUp([handIn({ city: 5 }), handIn({ city: 'Paris' })], TOOLS);
  const events = await run();
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({
    error: 'the answer does not match the schema: city: Invalid input: expected string, received number',
  });
  expect(getStructuredOutput(events.at(-1) as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('answers of the wrong shape are bounded however they come', async () => {
  const wrong = { calls: [{ name: SET_MODEL_RESPONSE, args: {} }] };
  const { model, run } = await setUp([wrong, 'as text', wrong, wrong], TOOLS);
  await expect(run()).rejects.toBeInstanceOf(OutputSchemaError);
  model.assertConsumed();
});

test('an answer that comes as text is taken all the same', async () => {
  const { run } = await setUp(['{"city":"Paris"}'], TOOLS);
  expect((await run()).map(getStructuredOutput)).toEqual([{ city: 'Paris', days: 1 }]);
});

test('an answer beside other calls ends the turn when all of them are answered', async () => {
  const calls = [
    { name: 'weather', args: {} },
    { name: SET_MODEL_RESPONSE, args: { city: 'Paris' } },
  ];
  const { run } = await setUp([{ calls }], TOOLS);
  const events = await run();
  expect(events[1]?.content?.parts).toHaveLength(2);
  expect(getStructuredOutput(events[2] as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('an answer beside a call that stays open ends the turn', async () => {
  const later = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
  const calls = [
    { name: 'later', args: {} },
    { name: SET_MODEL_RESPONSE, args: { city: 'Paris' } },
  ];
  const { run } = await setUp([{ calls }], { ...TOOLS, tools: [later] });
  expect(getStructuredOutput((await run()).at(-1) as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('a schema that is no object is handed in as a value', async () => {
  const steps = [{ calls: [{ name: SET_MODEL_RESPONSE, args: { value: ['a', 'b'] } }] }];
  const { model, run, session } = await setUp(steps, { ...TOOLS, outputSchema: z.array(z.string()) });
  const events = await run();
  expect(model.requests[0]?.request.toolsDict[SET_MODEL_RESPONSE]?._getDeclaration()?.parametersJsonSchema).toEqual({
    type: 'object',
    properties: { value: { type: 'array', items: { type: 'string' } } },
    required: ['value'],
  });
  expect(textOf(events.at(-1))).toBe('["a","b"]');
  expect((await session()).state).toEqual({ answer: ['a', 'b'] });
});

test('concurrent runs of one agent do not hand in each other’s answers', async () => {
  const model = new ScriptedModel(
    Array.from({ length: 20 }, (): ScriptedStep => (request) => ({
      calls: [{ name: SET_MODEL_RESPONSE, args: { city: request.contents[0]?.parts?.[0]?.text } }],
    })),
  );
  const sessionService = new InMemorySessionService();
  const agent = new LlmAgent({ name: 'bot', model, ...TOOLS });
  const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });
  const cities = Array.from({ length: 20 }, (_, index) => `city ${index}`);
  const runs = cities.map((text) => runner.run({ userId: 'u', sessionId: text, newMessage: { parts: [{ text }] } }));
  const answers = (await Promise.all(runs)).map((events) => getStructuredOutput(events.at(-1) as Event));
  expect(answers).toEqual(cities.map((city) => ({ city, days: 1 })));
});

test('a tool of the agent’s own cannot have the name of the answering tool', async () => {
  const tools = [new FunctionTool({ name: SET_MODEL_RESPONSE, description: '', execute: () => '' })];
  const { run } = await setUp([], { ...TOOLS, tools });
  await expect(run()).rejects.toBeInstanceOf(ConfigurationError);
});
