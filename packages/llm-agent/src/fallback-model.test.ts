import {
  BaseLlm,
  type BaseLlmConnection,
  ConfigurationError,
  createLlmRequest,
  LiveConnectionError,
  type LlmRequest,
  type LlmResponse,
  type ModelCapabilities,
  ModelError,
} from '@eventloom/core';
import { acceptsMedia } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { FallbackModel } from './fallback-model.ts';

const busy = new ModelError('busy', { errorCode: 'UNAVAILABLE', status: 503, retryable: true });
const quota = new ModelError('quota', { errorCode: 'RESOURCE_EXHAUSTED', status: 429 });
const invalid = new ModelError('invalid', { errorCode: 'INVALID_ARGUMENT', status: 400 });

/** A model that yields these responses, and then throws an error if there is one. */
class Playing extends BaseLlm {
  readonly requests: LlmRequest[] = [];
  readonly #responses: readonly LlmResponse[];
  readonly #error: Error | undefined;
  readonly #capabilities: Partial<ModelCapabilities>;

  constructor(
    model: string,
    responses: readonly LlmResponse[],
    error?: Error,
    capabilities: Partial<ModelCapabilities> = {},
  ) {
    super({ model });
    this.#responses = responses;
    this.#error = error;
    this.#capabilities = capabilities;
  }

  override capabilities(): ModelCapabilities {
    return { ...super.capabilities(), ...this.#capabilities };
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    this.requests.push(request);
    for (const response of this.#responses) yield response;
    if (this.#error) throw this.#error;
  }
}

const reply = (text: string): LlmResponse => ({ content: { role: 'model', parts: [{ text }] } });
const chunk = (text: string): LlmResponse => ({ ...reply(text), partial: true });

async function play(models: readonly BaseLlm[], request = createLlmRequest(), signal?: AbortSignal) {
  const responses: LlmResponse[] = [];
  for await (const response of new FallbackModel({ models }).generateContentAsync(request, true, signal))
    responses.push(response);
  return responses;
}

test('the first model is called, and its reply is passed on unchanged', async () => {
  const second = new Playing('b', [reply('b')]);
  const whole = reply('a');
  const [response] = await play([new Playing('a', [whole]), second]);
  expect(response).toBe(whole);
  expect(second.requests).toEqual([]);
});

test.each([busy, quota])('after $message the next model is called, and its reply says so', async (error) => {
  const models = [new Playing('a', [], error), new Playing('b', [], busy), new Playing('c', [chunk('c'), reply('c')])];
  const failed = [
    { model: 'a', errorCode: error.errorCode },
    { model: 'b', errorCode: 'UNAVAILABLE' },
  ];
  expect(await play(models)).toEqual([
    chunk('c'),
    { ...reply('c'), customMetadata: { fallback: { model: 'c', failed } } },
  ]);
});

test.each([invalid, new TypeError('a bug')])('after "$message" no other model is called', async (error) => {
  const second = new Playing('b', [reply('b')]);
  await expect(play([new Playing('a', [], error), second])).rejects.toBe(error);
  expect(second.requests).toEqual([]);
});

test.each(['UNKNOWN_ERROR', 'NO_FINISH_REASON', 'INCOMPLETE_CALL'])(
  'after an empty reply with the code %s the next model is called',
  async (errorCode) => {
    const models = [new Playing('a', [{ errorCode }]), new Playing('b', [reply('b')])];
    const fallback = { model: 'b', failed: [{ model: 'a', errorCode }] };
    expect(await play(models)).toEqual([{ ...reply('b'), customMetadata: { fallback } }]);
  },
);

test('after a model that yields nothing, and one whose answer cannot be read, the next model is called', async () => {
  const unreadable = new ModelError('a page', { errorCode: 'DATA_LOSS' });
  const models = [new Playing('a', []), new Playing('b', [], unreadable), new Playing('c', [reply('c')])];
  const failed = [
    { model: 'a', errorCode: 'UNKNOWN_ERROR' },
    { model: 'b', errorCode: 'DATA_LOSS' },
  ];
  expect(await play(models)).toEqual([{ ...reply('c'), customMetadata: { fallback: { model: 'c', failed } } }]);
});

test.each<[string, LlmResponse[]]>([
  ['without content', [{}]],
  ['without parts', [{ content: { role: 'model' } }]],
  ['of an empty text', [{ content: { parts: [{ text: '' }] } }]],
  [
    'of an empty thought with an empty signature',
    [{ content: { parts: [{ text: '', thought: true, thoughtSignature: '' }] } }],
  ],
  ['after a chunk without content', [{ partial: true, usageMetadata: {} }, {}]],
  ['after a chunk of an empty text', [chunk(''), {}]],
])('after a reply %s and without a reason the next model is called', async (_, responses) => {
  const fallback = { model: 'b', failed: [{ model: 'a', errorCode: 'UNKNOWN_ERROR' }] };
  expect(await play([new Playing('a', responses), new Playing('b', [reply('b')])])).toEqual([
    { ...reply('b'), customMetadata: { fallback } },
  ]);
});

test('after chunks without content and a failure the next model is called', async () => {
  const [response] = await play([new Playing('a', [chunk('')], busy), new Playing('b', [reply('b')])]);
  expect(response).toMatchObject({
    customMetadata: { fallback: { failed: [{ model: 'a', errorCode: 'UNAVAILABLE' }] } },
  });
});

test('chunks without content before a reply are passed on in their order', async () => {
  const responses = [chunk(''), { partial: true, modelVersion: 'a-1' }, chunk('a'), chunk(''), reply('a')];
  expect(await play([new Playing('a', responses), new Playing('b', [reply('b')])])).toEqual(responses);
});

test.each([
  ['an empty reply with a finish reason', [{ finishReason: 'STOP' }]],
  ['an empty text that was cut', [chunk(''), { ...reply(''), finishReason: 'MAX_TOKENS', errorCode: 'MAX_TOKENS' }]],
  ['an empty text with a signature', [{ content: { parts: [{ text: '', thoughtSignature: 'c2ln' }] } }]],
  ['a call', [{ content: { parts: [{ functionCall: { name: 'look', args: {} } }] } }]],
  ['content in an alternative only', [{ alternatives: [{ index: 1, ...reply('a') }] }]],
  ['a refused prompt', [{ errorCode: 'PROHIBITED_CONTENT' }]],
  ['a text without a finish reason', [{ ...reply('a'), errorCode: 'NO_FINISH_REASON' }]],
  ['chunks without a finish reason', [chunk('a'), { errorCode: 'NO_FINISH_REASON' }]],
])('after %s no other model is called', async (_, responses) => {
  const second = new Playing('b', [reply('b')]);
  expect(await play([new Playing('a', responses), second])).toEqual(responses);
  expect(second.requests).toEqual([]);
});

test('the empty reply of the last model is passed on', async () => {
  const empty = { errorCode: 'NO_FINISH_REASON' };
  const [response] = await play([new Playing('a', [empty]), new Playing('b', [empty])]);
  expect(response).toMatchObject({ ...empty, customMetadata: { fallback: { model: 'b' } } });
});

test('after the first chunk no other model is called', async () => {
  const second = new Playing('b', [reply('b')]);
  await expect(play([new Playing('a', [chunk('a')], busy), second])).rejects.toBe(busy);
  expect(second.requests).toEqual([]);
});

test('after an abort no other model is called', async () => {
  const second = new Playing('b', [reply('b')]);
  await expect(play([new Playing('a', [], busy), second], undefined, AbortSignal.abort())).rejects.toBe(busy);
  expect(second.requests).toEqual([]);
});

test('the error of the last model is thrown if all fail', async () => {
  await expect(play([new Playing('a', [], busy), new Playing('b', [], quota)])).rejects.toBe(quota);
});

test('each model gets the request with its own name, without the cache of the first model, and with the media that it reads', async () => {
  const png = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  const functionResponse = { name: 'f', response: {} };
  const contents = [{ role: 'user', parts: [{ functionResponse: { ...functionResponse, parts: [png] } }] }];
  const first = new Playing('a', [], busy, { responseMedia: { inlineData: ['image/*'], fileData: [] } });
  const second = new Playing('b', [reply('b')]);
  await play([first, second], { ...createLlmRequest(), model: 'x', contents, cacheConfig: {} });
  expect(first.requests[0]).toMatchObject({ model: 'a', contents, cacheConfig: {} });
  expect(second.requests[0]).toMatchObject({
    model: 'b',
    contents: [{ role: 'user', parts: [{ functionResponse }, png] }],
  });
  expect(second.requests[0]).not.toHaveProperty('cacheConfig');
});

test('the capabilities are those of all models', () => {
  const responseMedia = { inlineData: ['image/*'], fileData: [] };
  const first = new Playing('a', [], undefined, { media: ['image/*', 'application/pdf'], responseMedia });
  const second = new Playing('b', [], undefined, { tools: false, media: ['image/png', 'audio/*'], live: true });
  expect(new FallbackModel({ models: [first, second] }).capabilities()).toEqual({
    tools: false,
    outputSchemaWithTools: false,
    media: ['image/png'],
    responseMedia,
    thinking: true,
    builtInTools: true,
    live: true,
  });
});

test.each([
  [['image/*'], 'image/png', true],
  [['image/*'], 'imagery/png', false],
  [['image/png'], 'image/webp', false],
  [['*'], 'video/mp4', true],
  [[], 'image/png', false],
])('a model that takes the media types %j accepts %s: %s', (patterns, mimeType, expected) => {
  expect(acceptsMedia(patterns, mimeType)).toBe(expected);
});

class Live extends Playing {
  readonly #connect: () => Promise<BaseLlmConnection>;

  constructor(connect: () => Promise<BaseLlmConnection>) {
    super('live', [], undefined, { live: true });
    this.#connect = connect;
  }

  override connect(): Promise<BaseLlmConnection> {
    return this.#connect();
  }
}

test('a live connection is opened by the first model that supports it, and by the next one after a temporary failure', async () => {
  const connection = {} as BaseLlmConnection;
  const lost = new LiveConnectionError('lost', { isRetryable: true });
  const refused = new LiveConnectionError('refused', { isRetryable: false });
  const ok = new Live(() => Promise.resolve(connection));
  const connect = (...models: BaseLlm[]) => new FallbackModel({ models }).connect(createLlmRequest());
  expect(await connect(new Playing('a', []), new Live(() => Promise.reject(lost)), ok)).toBe(connection);
  await expect(connect(new Live(() => Promise.reject(refused)), ok)).rejects.toBe(refused);
  await expect(connect(new Playing('a', []))).rejects.toThrow(ConfigurationError);
});

test.each([[{ models: [] }], [{ models: 'gemini-flash-latest' }], [{ models: ['gemini-flash-latest'] }], [{}]])(
  'the options %j are refused',
  (options) => {
    expect(() => new FallbackModel(options as never)).toThrow(ConfigurationError);
  },
);
