import { ConfigurationError, type Event, getStructuredOutput, OutputSchemaError } from '@eventloom/core';
import { SET_MODEL_RESPONSE } from '@eventloom/core/internal';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Runner } from './runner.ts';
import { scenario, textOf } from './fixtures/scenario.ts';

// Output schema with tools.

const schema = z.object({ city: z.string(), days: z.number().default(1) });

const weather = new FunctionTool({ name: 'weather', description: '', execute: () => 'clear' });

const TOOLS = { outputSchema: schema, outputKey: 'answer', tools: [weather] };

test("a model that supports both gets the output schema and only the agent's tools", async () => {
  const steps = [{ calls: [{ name: 'weather', args: {} }] }, '{"city":"Paris"}'];
  const { model, run } = await scenario({
    model: new ScriptedModel(steps, { capabilities: { outputSchemaWithTools: true } }),
    agent: TOOLS,
  });
  const events = await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['weather']);
  expect(model.requests[0]?.request.config.responseJsonSchema).toBeDefined();
  expect(getStructuredOutput(events[2] as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('other models get a tool for the answer', async () => {
  const steps = [
    { calls: [{ name: 'weather', args: {} }] },
    { calls: [{ name: SET_MODEL_RESPONSE, args: { city: 'Paris' } }] },
  ];
  const { model, run, session } = await scenario({ model: steps, agent: TOOLS });
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

test('the answering tool is in each request once, in later steps and runs too', async () => {
  const handIn = { calls: [{ name: SET_MODEL_RESPONSE, args: { city: 'Paris' } }] };
  const { model, run } = await scenario({
    model: [{ calls: [{ name: 'weather', args: {} }] }, handIn, handIn],
    agent: TOOLS,
  });
  await run();
  await run();
  const names = model.requests.map(({ request }) =>
    (request.config.tools as { functionDeclarations: { name: string }[] }[]).flatMap(({ functionDeclarations }) =>
      functionDeclarations.map(({ name }) => name),
    ),
  );
  expect(names).toEqual(Array<string[]>(3).fill(['weather', SET_MODEL_RESPONSE]));
});

test('an answer that does not match is returned to the model, which can answer again', async () => {
  const handIn = (args: Record<string, unknown>) => ({ calls: [{ name: SET_MODEL_RESPONSE, args }] });
  const { run } = await scenario({ model: [handIn({ city: 5 }), handIn({ city: 'Paris' })], agent: TOOLS });
  const events = await run();
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({
    error: 'the answer does not match the schema: city: Invalid input: expected string, received number',
  });
  expect(getStructuredOutput(events.at(-1) as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('the number of corrections is limited, for text and for the answering tool', async () => {
  const wrong = { calls: [{ name: SET_MODEL_RESPONSE, args: {} }] };
  const { model, run } = await scenario({ model: [wrong, 'as text', wrong, wrong], agent: TOOLS });
  await expect(run()).rejects.toBeInstanceOf(OutputSchemaError);
  model.assertConsumed();
});

test('an answer as text is also accepted', async () => {
  const { run } = await scenario({ model: ['{"city":"Paris"}'], agent: TOOLS });
  expect((await run()).map(getStructuredOutput)).toEqual([{ city: 'Paris', days: 1 }]);
});

test('an answer beside other calls ends the turn when all have responses', async () => {
  const calls = [
    { name: 'weather', args: {} },
    { name: SET_MODEL_RESPONSE, args: { city: 'Paris' } },
  ];
  const { run } = await scenario({ model: [{ calls }], agent: TOOLS });
  const events = await run();
  expect(events[1]?.content?.parts).toHaveLength(2);
  expect(getStructuredOutput(events[2] as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('an answer beside a long-running call ends the turn', async () => {
  const later = new LongRunningFunctionTool({ name: 'later', description: '', execute: () => undefined });
  const calls = [
    { name: 'later', args: {} },
    { name: SET_MODEL_RESPONSE, args: { city: 'Paris' } },
  ];
  const { run } = await scenario({ model: [{ calls }], agent: { ...TOOLS, tools: [later] } });
  expect(getStructuredOutput((await run()).at(-1) as Event)).toEqual({ city: 'Paris', days: 1 });
});

test('an answer for a schema that is not an object is wrapped in a value', async () => {
  const steps = [{ calls: [{ name: SET_MODEL_RESPONSE, args: { value: ['a', 'b'] } }] }];
  const { model, run, session } = await scenario({
    model: steps,
    agent: { ...TOOLS, outputSchema: z.array(z.string()) },
  });
  const events = await run();
  expect(model.requests[0]?.request.toolsDict[SET_MODEL_RESPONSE]?._getDeclaration()?.parametersJsonSchema).toEqual({
    type: 'object',
    properties: { value: { type: 'array', items: { type: 'string' } } },
    required: ['value'],
  });
  expect(textOf(events.at(-1))).toBe('["a","b"]');
  expect((await session()).state).toEqual({ answer: ['a', 'b'] });
});

test('concurrent runs of one agent have separate answers', async () => {
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

test('a tool with the name of the answering tool throws a ConfigurationError', async () => {
  const tools = [new FunctionTool({ name: SET_MODEL_RESPONSE, description: '', execute: () => '' })];
  const { run } = await scenario({ agent: { ...TOOLS, tools } });
  await expect(run()).rejects.toBeInstanceOf(ConfigurationError);
});
