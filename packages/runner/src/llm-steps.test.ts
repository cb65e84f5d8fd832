import { BaseLlm, ConfigurationError, isFinalResponse, type LlmResponse } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { scenario, textOf } from './fixtures/scenario.ts';
import { Runner } from './runner.ts';

test('a turn without calls is one final stored event with the author and the reply', async () => {
  const { model, run, stored } = await scenario({ model: ['Hello!'] });
  const events = await run();
  expect(events).toMatchObject([
    {
      author: 'bot',
      content: { role: 'model', parts: [{ text: 'Hello!' }] },
      finishReason: 'STOP',
      actions: { stateDelta: {}, artifactDelta: {} },
    },
  ]);
  expect(events.map(isFinalResponse)).toEqual([true]);
  expect((await stored()).slice(1)).toEqual(events);
  model.assertConsumed();
});

test('the model gets the conversation so far', async () => {
  const { model, run } = await scenario({ model: ['one', 'two'] });
  await run('a');
  await run('b');
  expect(model.requests[1]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ text: 'one' }] },
    { role: 'user', parts: [{ text: 'b' }] },
  ]);
  expect(model.requests[1]?.stream).toBe(false);
});

test('with includeContents none the model gets only the current turn', async () => {
  const { model, run } = await scenario({
    model: ['one', { calls: [{ name: 'now', args: {} }] }, 'two'],
    agent: {
      includeContents: 'none',
      tools: [new FunctionTool({ name: 'now', description: '', execute: () => 5 })],
    },
  });
  await run('a');
  await run('b');
  expect(model.requests[1]?.request.contents).toEqual([{ role: 'user', parts: [{ text: 'b' }] }]);
  expect(model.requests[2]?.request.contents).toEqual([
    { role: 'user', parts: [{ text: 'b' }] },
    { role: 'model', parts: [{ functionCall: { name: 'now', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'now', response: { result: 5 } } }] },
  ]);
});

test('a call is stored and run, and the model continues with its response', async () => {
  const weather = new FunctionTool({
    name: 'weather',
    description: 'Tells the weather.',
    execute: ({ city }) => ({ city, sky: 'clear' }),
  });
  const { model, run, stored } = await scenario({
    model: [{ calls: [{ id: 'c1', name: 'weather', args: { city: 'Paris' } }] }, 'It is clear.'],
    agent: { tools: [weather] },
  });
  const events = await run();
  expect(events).toMatchObject([
    {
      author: 'bot',
      content: { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'weather', args: { city: 'Paris' } } }] },
    },
    {
      author: 'bot',
      content: {
        role: 'user',
        parts: [{ functionResponse: { id: 'c1', name: 'weather', response: { city: 'Paris', sky: 'clear' } } }],
      },
    },
    { author: 'bot', content: { role: 'model', parts: [{ text: 'It is clear.' }] } },
  ]);
  expect(events.map(isFinalResponse)).toEqual([false, false, true]);
  expect((await stored()).slice(1)).toEqual(events);
  expect(model.requests[1]?.request.contents.slice(1)).toEqual(events.slice(0, 2).map((event) => event.content));
  expect(new Set(events.map((event) => event.invocationId)).size).toBe(1);
});

test('the call is stored before its tool runs', async () => {
  const seen: (string | undefined)[] = [];
  const tool = new FunctionTool({
    name: 'look',
    description: '',
    execute: async () => {
      seen.push(...(await stored()).map((event) => event.content?.parts?.[0]?.functionCall?.name));
    },
  });
  const { run, stored } = await scenario({
    model: [{ calls: [{ name: 'look', args: {} }] }, 'done'],
    agent: { tools: [tool] },
  });
  await run();
  expect(seen).toEqual([undefined, 'look']);
});

test('a call without an id gets one that the model does not see', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', execute: (_, { functionCallId }) => functionCallId });
  const { model, run } = await scenario({
    model: [{ calls: [{ name: 'f', args: {} }] }, 'done'],
    agent: { tools: [tool] },
  });
  const [call, response] = await run();
  const id = call?.content?.parts?.[0]?.functionCall?.id;
  expect(id).toMatch(/^adk-[0-9a-f-]{36}$/);
  expect(response?.content?.parts?.[0]?.functionResponse).toEqual({ id, name: 'f', response: { result: id } });
  expect(model.requests[1]?.request.contents.slice(1)).toEqual([
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: id } } }] },
  ]);
});

// The request.

test("the request has the agent's instructions, identity, tools and options", async () => {
  const { model, run } = await scenario({
    model: ['ok'],
    agent: {
      description: 'Helps "people".',
      globalInstruction: 'Global.',
      staticInstruction: 'Static {as it is}.',
      instruction: 'Own.',
      generateContentConfig: { temperature: 0.5, labels: { a: 'b' } },
      tools: [new FunctionTool({ name: 'f', description: 'F.', execute: () => '' })],
    },
  });
  await run();
  expect(model.requests[0]?.request).toMatchObject({
    model: 'scripted',
    config: {
      temperature: 0.5,
      labels: { a: 'b' },
      systemInstruction:
        'Global.\n\nStatic {as it is}.\n\nOwn.\n\n' +
        'You are an agent. Your internal name is "bot". The description about you is "Helps "people".".',
      tools: [{ functionDeclarations: [{ name: 'f', description: 'F.' }] }],
    },
  });
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['f']);
});

test('without instructions, tools and options the request has only the identity', async () => {
  const { model, run } = await scenario({ model: ['ok'] });
  await run();
  expect(model.requests[0]?.request.config).toEqual({
    systemInstruction: 'You are an agent. Your internal name is "bot".',
  });
});

test("a run does not modify the agent's options", async () => {
  const generateContentConfig = { temperature: 0 };
  const { run } = await scenario({ model: ['one', 'two'], agent: { generateContentConfig, instruction: 'Own.' } });
  await run();
  await run();
  expect(generateContentConfig).toEqual({ temperature: 0 });
});

// Models by name.

test("a model name is looked up in the runner's models", async () => {
  const model = new ScriptedModel(['found'], { model: 'm-1' });
  const { run } = await scenario({ agent: { model: 'm-1' }, models: (name) => (name === 'm-1' ? model : undefined) });
  expect((await run()).map(textOf)).toEqual(['found']);
  expect(model.requests[0]?.request.model).toBe('m-1');
});

test.each([
  ['nobody knows', { models: () => undefined }, 'the runner\'s models do not resolve the model "m-2"'],
  [
    'the models do not know',
    { models: () => undefined },
    "write model: 'gemini-flash-latest', or models: aiSdkModels({ openai }) in the runner's options",
  ],
  [
    'the models resolve to a promise',
    { models: (async () => new ScriptedModel(['hi'])) as never },
    'agent "bot": the runner\'s models returned a promise for the model "m-2", not a model object; write models:',
  ],
  ['there are no models to look it up in', {}, 'write models: geminiModels({ apiKey })'],
])('a name that %s fails the run with a configuration error', async (_, runnerConfig, message) => {
  const { run } = await scenario({ agent: { model: 'm-2' }, ...runnerConfig });
  const error: unknown = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect((error as Error).message).toContain(message);
});

// Replies.

test('a finish reason other than STOP is an error code beside the content', async () => {
  const { run } = await scenario({ model: [{ text: 'cut', response: { finishReason: 'MAX_TOKENS' } }] });
  expect(await run()).toMatchObject([
    {
      content: { parts: [{ text: 'cut' }] },
      finishReason: 'MAX_TOKENS',
      errorCode: 'MAX_TOKENS',
      errorMessage: 'the model stopped with MAX_TOKENS',
    },
  ]);
});

test('a reply that the service blocked is an event with its error, and the run completes', async () => {
  const { run } = await scenario({ model: [{ response: { errorCode: 'SAFETY', errorMessage: 'no' } }] });
  expect(await run()).toMatchObject([{ errorCode: 'SAFETY', errorMessage: 'no' }]);
});

test('metadata of the reply is kept', async () => {
  const response: LlmResponse = {
    usageMetadata: { promptTokenCount: 3, totalTokenCount: 5, custom: 'x' },
    groundingMetadata: { source: 'web' },
    citationMetadata: { citations: [] },
    avgLogprobs: -0.5,
    modelVersion: 'v1',
    customMetadata: { trace: 't' },
    alternatives: [{ index: 1, content: { parts: [{ text: 'other' }] } }],
    responseId: 'resp-1',
  };
  const { run } = await scenario({ model: [{ text: 'ok', response }] });
  expect(await run()).toMatchObject([response]);
});

test('several whole replies to one request are merged', async () => {
  class Twofold extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      yield { content: { role: 'model', parts: [{ text: 'Hel' }] } };
      yield { content: { role: 'model', parts: [{ text: 'lo' }] }, finishReason: 'STOP' };
    }
  }
  const { run } = await scenario({ agent: { model: new Twofold({ model: 'two' }) } });
  expect((await run()).map(textOf)).toEqual(['Hello']);
});

test("the reply has timing from the platform's clock", async () => {
  const { run, platform } = await scenario({
    model: [
      () => {
        platform.advance(250);
        return 'done';
      },
    ],
  });
  const [event] = await run();
  expect(event?.usageMetadata).toEqual({ timingInfo: { timeToFirstTokenMs: 250 } });
  expect(event?.timestamp).toBe(platform.now() / 1000);
});

test('a model that yields a string fails the run, and the error says what to write', async () => {
  class Talker extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      yield 'hello' as never;
    }
  }
  const { run } = await scenario({ agent: { model: new Talker({ model: 'talker' }) } });
  await expect(run()).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message:
      'agent "bot": model: expected responses, got a string; ' +
      "write yield { content: { role: 'model', parts: [{ text: 'hello' }] } }",
  });
});

test.each([
  ['a promise', async () => ({ content: { role: 'model', parts: [{ text: 'hello' }] } })],
  ['nothing', () => undefined],
])(
  'a model whose generateContentAsync returns %s fails the run, and the error says what to write',
  async (_, generate) => {
    class Returning extends BaseLlm {
      override generateContentAsync = generate as never;
    }
    const { run } = await scenario({ agent: { model: new Returning({ model: 'returning' }) } });
    await expect(run()).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message:
        'agent "bot": model: generateContentAsync: expected an async generator; ' +
        "write async *generateContentAsync(request) { yield { content: { role: 'model', parts: [{ text: 'hello' }] } } }",
    });
  },
);

test('a TypeError in a model is reported as the failure of the model', async () => {
  class Broken extends BaseLlm {
    // oxlint-disable-next-line eslint/require-yield -- it fails before it could yield
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      throw new TypeError('no such host');
    }
  }
  const { run } = await scenario({ agent: { model: new Broken({ model: 'broken' }) } });
  await expect(run()).rejects.toMatchObject({
    code: 'MODEL',
    message: 'the model of agent "bot" failed: no such host',
  });
});

test.each([
  [{ models: {} }, 'Runner: models: expected a function, got an object; write models: geminiModels({ apiKey })'],
  [{ plugins: {} }, 'Runner: plugins: expected a list of plugins, got an object; write plugins: [new LoggingPlugin()]'],
  [{ plugins: [{}] }, 'Runner: plugins[0]: expected a plugin, got an object'],
])('a runner with the option %j throws ConfigurationError', async (option, message) => {
  const { runner } = await scenario({});
  const { appName, agent, sessionService } = runner;
  expect(() => new Runner({ appName, agent, sessionService, ...(option as object) })).toThrow(message);
});
