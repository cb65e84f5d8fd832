import { ConfigurationError } from '@eventloom/core';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, test } from 'vitest';
import { AiSdkLlm } from './ai-sdk-llm.ts';
import { optionsFor, requestOf, responsesOf, STOP, USAGE } from './fixtures/mock-model.ts';

const TOOLS = [
  {
    functionDeclarations: [
      { name: 'f', description: 'Does f.', parametersJsonSchema: { type: 'object' } },
      { name: 'g' },
    ],
  },
];

test('generation settings are passed on, and absent ones are not set', async () => {
  const { abortSignal, prompt, ...none } = await optionsFor(requestOf('Hi'));
  expect([none, abortSignal?.aborted, prompt.length]).toEqual([{}, false, 1]);
  const config = {
    temperature: 0,
    topP: 0.5,
    topK: 3,
    maxOutputTokens: 9,
    stopSequences: ['x'],
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
    seed: 7,
  };
  expect(await optionsFor(requestOf('Hi', config))).toMatchObject(config);
});

test('declarations become tools', async () => {
  expect((await optionsFor(requestOf('Hi', { tools: TOOLS }))).tools).toEqual([
    { type: 'function', name: 'f', description: 'Does f.', inputSchema: { type: 'object' } },
    { type: 'function', name: 'g', inputSchema: { type: 'object', properties: {} } },
  ]);
});

test("schemas in Gemini's dialect are translated", async () => {
  const parameters = {
    type: 'OBJECT',
    properties: {
      tags: { type: 'ARRAY', items: { type: 'STRING' }, minItems: '1' },
      n: { type: 'INTEGER', nullable: true },
    },
    propertyOrdering: ['tags', 'n'],
    required: ['tags'],
  };
  const json = {
    type: 'object',
    properties: { tags: { type: 'array', items: { type: 'string' }, minItems: 1 }, n: { type: ['integer', 'null'] } },
    required: ['tags'],
  };
  const config = { tools: [{ functionDeclarations: [{ name: 'f', parameters }] }], responseSchema: parameters };
  const { tools, responseFormat } = await optionsFor(requestOf('Hi', config));
  expect(tools).toMatchObject([{ inputSchema: json }]);
  expect(responseFormat).toEqual({ type: 'json', schema: json, name: 'response' });
});

test.each([
  [{ mode: 'AUTO' }, { type: 'auto' }, ['f', 'g']],
  [{ mode: 'NONE' }, { type: 'none' }, ['f', 'g']],
  [{ mode: 'ANY' }, { type: 'required' }, ['f', 'g']],
  [{ mode: 'ANY', allowedFunctionNames: ['g'] }, { type: 'tool', toolName: 'g' }, ['f', 'g']],
  [{ mode: 'ANY', allowedFunctionNames: ['g', 'x'] }, { type: 'required' }, ['g']],
  [{ mode: 'VALIDATED', allowedFunctionNames: ['f'] }, { type: 'auto' }, ['f']],
])('the mode %j is the tool choice %j', async (functionCallingConfig, toolChoice, names) => {
  const options = await optionsFor(requestOf('Hi', { tools: TOOLS, toolConfig: { functionCallingConfig } }));
  expect(options.toolChoice).toEqual(toolChoice);
  expect(options.tools?.map(({ name }) => name)).toEqual(names);
});

test('a tool of the vendor is passed on', async () => {
  const tools = [{ type: 'provider', id: 'openai.web_search', args: { size: 'low' }, inputSchema: {} }];
  expect((await optionsFor(requestOf('Hi', { tools }))).tools).toEqual([
    { type: 'provider', id: 'openai.web_search', name: 'web_search', args: { size: 'low' } },
  ]);
});

test("a tool that Google's service runs is refused by name, and the model is not called", async () => {
  const asked = optionsFor(requestOf('Hi', { tools: [{ googleSearch: {} }] }));
  await expect(asked).rejects.toThrow(ConfigurationError);
  await expect(asked).rejects.toThrow('runs the tool googleSearch, and this model is of mock.chat');
});

test.each([
  [{ responseJsonSchema: { type: 'object' } }, { type: 'json', schema: { type: 'object' }, name: 'response' }],
  [{ responseMimeType: 'application/json' }, { type: 'json' }],
  [{ responseMimeType: 'text/plain' }, undefined],
])('%j is the format %j', async (config, responseFormat) => {
  expect((await optionsFor(requestOf('Hi', config))).responseFormat).toEqual(responseFormat);
});

test.each([
  [{ thinkingBudget: 0 }, 'none'],
  [{ thinkingBudget: 1024 }, 'low'],
  [{ thinkingBudget: 8192 }, 'medium'],
  [{ thinkingBudget: 32_000 }, 'high'],
  [{ thinkingBudget: -1 }, undefined],
  [{ thinkingLevel: 'HIGH' }, 'high'],
  [{ includeThoughts: true }, undefined],
])('the thinking config %j is the effort %s', async (thinkingConfig, reasoning) => {
  expect((await optionsFor(requestOf('Hi', { thinkingConfig }))).reasoning).toBe(reasoning);
});

test('includeThoughts asks OpenAI for summaries, unless the options say otherwise', async () => {
  const thinkingConfig = { includeThoughts: true };
  const request = requestOf('Hi', { thinkingConfig });
  expect((await optionsFor(request, {}, 'openai.responses')).providerOptions).toEqual({
    openai: { reasoningSummary: 'auto' },
  });
  const providerOptions = { openai: { reasoningSummary: 'detailed' } };
  expect((await optionsFor(request, { providerOptions }, 'openai.responses')).providerOptions).toEqual(providerOptions);
  expect((await optionsFor(request)).providerOptions).toBeUndefined();
});

test("provider options and headers of the agent are merged over the model's", async () => {
  const options = await optionsFor(
    requestOf('Hi', {
      providerOptions: { openai: { b: 2 }, other: { c: 3 } },
      httpOptions: { headers: { y: '2', z: '3' } },
    }),
    { providerOptions: { openai: { a: 1, b: 1 } }, headers: { x: '1', y: '1' } },
  );
  expect(options.providerOptions).toEqual({ openai: { a: 1, b: 2 }, other: { c: 3 } });
  expect(options.headers).toEqual({ x: '1', y: '2', z: '3' });
});

test('a model of version 3 of the specification gets requests in its form', async () => {
  const mock = new MockLanguageModelV3({
    provider: 'old',
    doGenerate: {
      content: [{ type: 'file', mediaType: 'image/png', data: 'aGk=' }],
      finishReason: STOP,
      usage: USAGE,
      warnings: [],
    },
  });
  const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  const pdf = { fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/a.pdf' } };
  const request = requestOf(
    [
      { role: 'user', parts: [image, pdf] },
      { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: {}, parts: [image, pdf] } }] },
    ],
    { thinkingConfig: { thinkingLevel: 'HIGH' } },
  );
  const [reply] = await responsesOf(new AiSdkLlm(mock), request);
  expect(reply?.content?.parts).toEqual([image]);
  expect(reply?.customMetadata).toMatchObject({ aiSdk: { warnings: [{ feature: 'thinkingConfig' }] } });
  const [call] = mock.doGenerateCalls;
  expect(call).not.toHaveProperty('reasoning');
  expect(call?.prompt).toEqual([
    {
      role: 'user',
      content: [
        { type: 'file', mediaType: 'image/png', data: 'aGk=' },
        { type: 'file', mediaType: 'application/pdf', data: new URL('https://example.com/a.pdf') },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'call00001', toolName: 'f', input: {} }] },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'call00001',
          toolName: 'f',
          output: {
            type: 'content',
            value: [
              { type: 'text', text: '{}' },
              { type: 'image-data', mediaType: 'image/png', data: 'aGk=' },
              { type: 'file-url', url: 'https://example.com/a.pdf' },
            ],
          },
        },
      ],
    },
  ]);
});

const ANTHROPIC = 'anthropic.messages';
const SHORT = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const CONVERSATION = requestOf(
  [
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] },
    { role: 'model', parts: [{ text: 'b' }] },
    { role: 'user', parts: [{ text: 'c' }] },
  ],
  { systemInstruction: 's' },
);

test.each([
  ['Anthropic', ANTHROPIC, {}, SHORT],
  [
    'Anthropic, for an hour',
    ANTHROPIC,
    { ttlSeconds: 1800 },
    { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } },
  ],
  ['Bedrock', 'amazon-bedrock', {}, { bedrock: { cachePoint: { type: 'default' } } }],
])('beginnings of a prompt are marked for the cache of %s', async (_, provider, cacheConfig, mark) => {
  const { prompt } = await optionsFor({ ...CONVERSATION, cacheConfig }, {}, provider);
  expect(prompt.map(({ role, providerOptions }) => [role, providerOptions])).toEqual([
    ['system', mark],
    ['user', undefined],
    ['assistant', undefined],
    ['tool', mark],
    ['assistant', undefined],
    ['user', mark],
  ]);
});

test.each([
  ['a runner without contextCacheConfig', {}, ANTHROPIC, {}],
  ['a vendor that caches by itself', { cacheConfig: {} }, 'openai.responses', {}],
  ['a prompt that is too small', { cacheConfig: { minTokens: 100 }, cacheableContentsTokenCount: 99 }, ANTHROPIC, {}],
])('%s sets no marks', async (_, request, provider, options) => {
  const { prompt } = await optionsFor({ ...CONVERSATION, ...request }, options, provider);
  expect(prompt.every(({ providerOptions }) => providerOptions === undefined)).toBe(true);
});

test('the option cacheBreakpoint is the mark for another vendor', async () => {
  const cacheBreakpoint = { openrouter: { cacheControl: { type: 'ephemeral' } } };
  const { prompt } = await optionsFor({ ...CONVERSATION, cacheConfig: {} }, { cacheBreakpoint }, 'openrouter.chat');
  expect(prompt[0]?.providerOptions).toEqual(cacheBreakpoint);
});
