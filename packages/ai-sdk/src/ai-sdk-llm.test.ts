import { ConfigurationError } from '@eventloom/core';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, test } from 'vitest';
import { AiSdkLlm } from './ai-sdk-llm.ts';
import {
  FINISH,
  replyingModel,
  requestOf,
  responsesOf,
  STOP,
  streamingModel,
  textParts,
  USAGE,
} from './fixtures/mock-model.ts';

const COUNTS = {
  promptTokenCount: 10,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 4,
  cachedContentTokenCount: 2,
  cacheWriteTokenCount: 1,
  totalTokenCount: 19,
};

test('a reply has the content, the finish reason and the counts of tokens', async () => {
  const { model } = replyingModel([{ type: 'text', text: 'Hello' }]);
  expect(await responsesOf(model)).toEqual([
    {
      content: { role: 'model', parts: [{ text: 'Hello' }] },
      finishReason: 'STOP',
      usageMetadata: COUNTS,
      responseId: expect.any(String),
    },
  ]);
});

test('a stream yields chunks with only the new content, and then the whole reply with the same id', async () => {
  const { model } = streamingModel([
    { type: 'stream-start', warnings: [] },
    { type: 'response-metadata', id: 'resp_0123456789abcdef', modelId: 'mock-1-2026' },
    ...textParts('Hel', 'lo'),
    FINISH,
  ]);
  const responseId = 'resp_0123456789abcdef';
  expect(await responsesOf(model, requestOf('Hi'), true)).toEqual([
    { content: { role: 'model', parts: [{ text: 'Hel' }] }, partial: true, responseId },
    { content: { role: 'model', parts: [{ text: 'lo' }] }, partial: true, responseId },
    {
      content: { role: 'model', parts: [{ text: 'Hello' }] },
      finishReason: 'STOP',
      usageMetadata: COUNTS,
      modelVersion: 'mock-1-2026',
      responseId,
    },
  ]);
});

test('replies with short ids, which some servers repeat, get new ids', async () => {
  const { model } = streamingModel([{ type: 'response-metadata', id: 'chatcmpl-742' }, ...textParts('a'), FINISH]);
  const ids = [];
  for (let call = 0; call < 2; call++)
    for (const { responseId } of await responsesOf(model, requestOf('Hi'), true)) ids.push(responseId);
  expect(ids).toEqual([ids[0], ids[0], ids[2], ids[2]]);
  expect(ids[0]).not.toBe(ids[2]);
});

test('parallel calls are in a chunk once the stream continues after them, and in the whole reply', async () => {
  const { model } = streamingModel([
    { type: 'tool-input-start', id: 'a', toolName: 'look' },
    { type: 'tool-input-delta', id: 'a', delta: '{"at":1}' },
    { type: 'tool-input-end', id: 'a' },
    { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{"at":1}' },
    { type: 'tool-call', toolCallId: 'b', toolName: 'now', input: '' },
    { type: 'tool-input-start', id: 'c', toolName: 'pay' },
    { type: 'tool-input-end', id: 'c' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'pay', input: '{}' },
    { ...FINISH, finishReason: { unified: 'tool-calls', raw: 'tool_calls' } } as typeof FINISH,
  ]);
  const partMetadata = { madeBy: { provider: 'mock.chat' } };
  const parts = [
    { functionCall: { id: 'a', name: 'look', args: { at: 1 } }, partMetadata },
    { functionCall: { id: 'b', name: 'now', args: {} }, partMetadata },
    { functionCall: { id: 'c', name: 'pay', args: {} }, partMetadata },
  ];
  const responses = await responsesOf(model, requestOf('Hi'), true);
  expect(responses.map(({ content, partial }) => [partial, content?.parts])).toEqual([
    [true, parts.slice(0, 2)],
    [true, parts.slice(2)],
    [undefined, parts],
  ]);
  expect(responses.at(-1)?.finishReason).toBe('STOP');
});

test('calls at the end of a stream that fails are not shown', async () => {
  const { model } = streamingModel([
    ...textParts('Calling.'),
    { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' },
    { type: 'tool-call', toolCallId: 'b', toolName: 'pay', input: '{}' },
    { type: 'error', error: new Error('the connection was lost') },
  ]);
  const chunks = model.generateContentAsync(requestOf('Hi'), true);
  expect((await chunks.next()).value).toMatchObject({ content: { parts: [{ text: 'Calling.' }] } });
  await expect(chunks.next()).rejects.toMatchObject({ errorCode: 'UNAVAILABLE' });
});

test('a call whose arguments are not a JSON object is an error, and no call of the reply is passed on', async () => {
  const { model } = replyingModel([
    { type: 'text', text: 'Calling.' },
    { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' },
    { type: 'tool-call', toolCallId: 'b', toolName: 'pay', input: '{"to": "An' },
  ]);
  expect(await responsesOf(model)).toMatchObject([
    {
      content: { parts: [{ text: 'Calling.' }] },
      finishReason: 'MALFORMED_FUNCTION_CALL',
      errorCode: 'MALFORMED_FUNCTION_CALL',
      errorMessage: `the arguments of the call of "pay" are not a JSON object; none of its calls was run`,
    },
  ]);
});

test('thoughts keep the metadata of their provider, of all pieces together', async () => {
  const { model } = streamingModel([
    { type: 'reasoning-start', id: '0', providerMetadata: { anthropic: { a: 1 } } },
    { type: 'reasoning-delta', id: '0', delta: 'Hm' },
    { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { anthropic: { signature: 's' } } },
    { type: 'reasoning-end', id: '0' },
    ...textParts('Yes'),
    FINISH,
  ]);
  const responses = await responsesOf(model, requestOf('Hi'), true);
  expect(responses.map(({ content }) => content?.parts)).toEqual([
    [{ text: 'Hm', thought: true }],
    [{ text: 'Yes' }],
    [
      {
        text: 'Hm',
        thought: true,
        partMetadata: { madeBy: { provider: 'mock.chat', providerMetadata: { anthropic: { a: 1, signature: 's' } } } },
      },
      { text: 'Yes' },
    ],
  ]);
});

test('a text block that is opened again with the same id is a separate part', async () => {
  const { model } = streamingModel([
    ...textParts('a'),
    { type: 'reasoning-start', id: '1' },
    { type: 'reasoning-delta', id: '1', delta: 't' },
    { type: 'reasoning-end', id: '1' },
    ...textParts('b'),
    FINISH,
  ]);
  const whole = (await responsesOf(model, requestOf('Hi'), true)).at(-1);
  expect(whole?.content?.parts?.map(({ text }) => text)).toEqual(['a', 't', 'b']);
});

test('files of the model are inline data, and files at an address keep it', async () => {
  const { model } = replyingModel([
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new TextEncoder().encode('hi') } },
    { type: 'file', mediaType: 'video/mp4', data: { type: 'url', url: new URL('https://example.com/v.mp4') } },
    { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
  ]);
  const [reply] = await responsesOf(model);
  const image = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  expect(reply?.content?.parts).toEqual([
    image,
    image,
    { fileData: { mimeType: 'video/mp4', fileUri: 'https://example.com/v.mp4' } },
    { ...image, thought: true, partMetadata: { madeBy: { provider: 'mock.chat' } } },
  ]);
});

test('sources become grounding metadata, and citations citation metadata', async () => {
  const source = { type: 'source', sourceType: 'url', id: '1', url: 'https://a.example', title: 'A' } as const;
  const { model } = replyingModel([
    { type: 'text', text: 'As A says.', citations: [{ source, startIndex: 3, endIndex: 4 }] },
    source,
    { type: 'source', sourceType: 'document', id: '2', mediaType: 'application/pdf', title: 'B', filename: 'b.pdf' },
  ]);
  expect(await responsesOf(model)).toMatchObject([
    {
      groundingMetadata: {
        groundingChunks: [
          { web: { uri: 'https://a.example', title: 'A' } },
          { retrievedContext: { title: 'B', uri: 'b.pdf' } },
        ],
      },
      citationMetadata: { citations: [{ uri: 'https://a.example', title: 'A', startIndex: 3, endIndex: 4 }] },
    },
  ]);
});

test("tools that the vendor's service ran are not calls of the agent", async () => {
  const { model } = replyingModel([
    { type: 'tool-call', toolCallId: 'ws_1', toolName: 'web_search', input: '{"query":"x"}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'ws_1', toolName: 'web_search', result: { action: 'search' } },
    { type: 'text', text: 'Found.' },
  ]);
  const partMetadata = { madeBy: { provider: 'mock.chat' } };
  expect((await responsesOf(model))[0]?.content?.parts).toEqual([
    { toolCall: { id: 'ws_1', toolType: 'web_search', args: { query: 'x' } }, partMetadata },
    { toolResponse: { id: 'ws_1', toolType: 'web_search', response: { action: 'search' } }, partMetadata },
    { text: 'Found.' },
  ]);
});

test('warnings and metadata of the provider are in customMetadata', async () => {
  const warning = { type: 'other', message: 'slow' } as const;
  const { model } = streamingModel([
    { type: 'stream-start', warnings: [warning] },
    ...textParts('a'),
    { ...FINISH, providerMetadata: { openai: { responseId: 'r' }, empty: {} } } as typeof FINISH,
  ]);
  const whole = (await responsesOf(model, requestOf('Hi', { safetySettings: [] }), true)).at(-1);
  expect(whole?.customMetadata).toEqual({
    aiSdk: {
      warnings: [{ type: 'unsupported', feature: 'safetySettings' }, warning],
      providerMetadata: { openai: { responseId: 'r' }, empty: {} },
    },
  });
});

test.each([
  ['stop', 'STOP', undefined],
  ['tool-calls', 'STOP', undefined],
  ['length', 'MAX_TOKENS', 'MAX_TOKENS'],
  ['content-filter', 'SAFETY', 'SAFETY'],
  ['error', 'OTHER', 'OTHER'],
  ['other', 'OTHER', 'OTHER'],
] as const)('the finish reason %s becomes %s', async (unified, finishReason, errorCode) => {
  const { model } = streamingModel([
    ...textParts('a'),
    { ...FINISH, finishReason: { unified, raw: 'raw' } } as typeof FINISH,
  ]);
  const whole = (await responsesOf(model, requestOf('Hi'), true)).at(-1);
  expect([whole?.finishReason, whole?.errorCode]).toEqual([finishReason, errorCode]);
  expect(whole?.content?.parts).toEqual([{ text: 'a' }]);
});

test.each([
  [undefined],
  [{ unified: 'interrupted', raw: undefined } as const],
  [{ unified: 'other', raw: undefined } as const],
])('a stream that ends with the reason %j has no calls and an error code', async (finishReason) => {
  const end = finishReason ? [{ ...FINISH, finishReason } as typeof FINISH] : [];
  const call = { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: '{}' } as const;
  const calling = streamingModel([...textParts('a'), call, ...end]);
  expect((await responsesOf(calling.model, requestOf('Hi'), true)).at(-1)).toMatchObject({
    errorCode: 'INCOMPLETE_CALL',
    content: { parts: [{ text: 'a' }] },
  });
  const talking = streamingModel([...textParts('a'), ...end]);
  expect((await responsesOf(talking.model, requestOf('Hi'), true)).at(-1)?.errorCode).toBe('NO_FINISH_REASON');
});

test.each([
  ['gpt-5', 'got a string'],
  [undefined, 'got nothing'],
  [{ modelId: 'm', doStream: () => undefined, specificationVersion: 'v2' }, 'has version v2'],
  [() => undefined, 'got a function'],
])('%j is refused as a model', (model, message) => {
  expect(() => new AiSdkLlm(model as never)).toThrow(ConfigurationError);
  expect(() => new AiSdkLlm(model as never)).toThrow(message);
});

test('an unknown option is refused, with advice for those of providers and agents', () => {
  const mock = new MockLanguageModelV4();
  expect(() => new AiSdkLlm(mock, { apiKey: 'k' } as object)).toThrow(
    'give it to the provider: createOpenAI({ apiKey })',
  );
  expect(() => new AiSdkLlm(mock, { retri: {} } as object)).toThrow('did you mean "retry"?');
  expect(() => new AiSdkLlm(mock, { retry: { attempts: 0 } })).toThrow('AiSdkLlm: retry: attempts');
});

test('a request to another model is refused before the call', async () => {
  const { mock, model } = replyingModel([]);
  await expect(responsesOf(model, { ...requestOf('Hi'), model: 'other' })).rejects.toThrow(ConfigurationError);
  expect(mock.doGenerateCalls).toEqual([]);
});

test('a live connection is refused with the models that have one', async () => {
  const { model } = replyingModel([]);
  expect(model.capabilities().live).toBe(false);
  await expect(model.connect()).rejects.toThrow("live models are Gemini's");
});

test('the option capabilities replaces the capabilities that are assumed for the provider', () => {
  const { model } = replyingModel([], { capabilities: { tools: false } });
  expect(model.capabilities()).toMatchObject({ tools: false, thinking: true });
});

test.each([
  [{ tool: false }, 'has no option "tool"; did you mean "tools"?'],
  [{ tools: 'no' }, 'tools: expected true or false, got a string; write tools: true'],
  [{ media: true }, "media: expected a list, got true; write media: ['image/*']"],
  [{ media: ['image/*', 1] }, "media[1]: expected a media type, got the number 1; write media: ['image/*']"],
  [
    { responseMedia: ['image/*'] },
    'responseMedia: expected an object, got a list; write responseMedia: { inlineData: ',
  ],
  [
    { responseMedia: { inlineData: [] } },
    "responseMedia: fileData: expected a list, got nothing; write fileData: ['image/*']",
  ],
  [{ responseMedia: { inlinedata: [], fileData: [] } }, 'did you mean "inlineData"?'],
])('the capabilities %j are refused with what to write', (capabilities, message) => {
  const create = () => replyingModel([], { capabilities: capabilities as never });
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(`AiSdkLlm: capabilities: `);
  expect(create).toThrow(message);
});

test('an undefined capability is the one assumed for the provider', () => {
  const { model } = replyingModel([], { capabilities: { media: undefined, tools: false } as object });
  expect(model.capabilities()).toMatchObject({ tools: false, media: expect.arrayContaining(['image/*']) });
});

test('usage without a count for texts subtracts the thoughts', async () => {
  const mock = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: 'text', text: 'a' }],
      finishReason: STOP,
      usage: { ...USAGE, outputTokens: { total: 9, text: undefined, reasoning: 4 } },
      warnings: [],
    },
  });
  expect((await responsesOf(new AiSdkLlm(mock)))[0]?.usageMetadata).toMatchObject({
    candidatesTokenCount: 5,
    thoughtsTokenCount: 4,
  });
});
