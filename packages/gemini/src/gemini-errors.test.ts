import { ModelError } from '@eventloom/core';
import { fixedPlatform, type FixedPlatform } from '@eventloom/testing';
import { cutReply, errorReply, hangReply, sseReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { requestOf, responsesTo } from './fixtures/asked-gemini.ts';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini, type GeminiOptions } from './gemini.ts';

const server = DistantGemini.forEachTest();

let platform: FixedPlatform;

function gemini(options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({
    model: 'gemini-2.5-flash',
    apiKey: 'a-very-secret-key',
    baseUrl: server.url,
    retry: { jitter: 0 },
    platform,
    ...options,
  });
}

/** Returns the error of a call with a single attempt. */
async function errorOf(options: Partial<GeminiOptions> = {}, stream = false): Promise<ModelError> {
  const error: unknown = await responsesTo(gemini({ retry: { attempts: 1 }, ...options }), stream).then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

beforeEach(() => {
  platform = fixedPlatform();
});

afterEach(() => {
  expect(platform.pendingTimers).toBe(0);
});

test('a lost connection of a given client is a ModelError UNAVAILABLE', async () => {
  await server.enqueue(
    cutReply(),
    sseReply([wireResponse({ text: 'a', finishReason: null })], { end: 'cut' }),
    errorReply({ code: 404, status: 'NOT_FOUND' }),
  );
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: server.url } });
  expect(await errorOf({ client })).toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true });
  expect(await errorOf({ client }, true)).toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true });
  expect(await errorOf({ client })).toMatchObject({ errorCode: 'NOT_FOUND', status: 404, retryable: false });
});

test('the error for a refused key names the variable that the key comes from', async () => {
  await server.enqueue(errorReply({ code: 400, status: 'INVALID_ARGUMENT', message: 'API key not valid.' }));
  const { message } = await errorOf({ apiKeyName: 'MY_KEY' });
  expect(message).toMatch(/^model ".*": API key not valid; check the key in MY_KEY \(https:/);
});

test('an unreachable service is a retryable error', async () => {
  await server.close();
  expect(await errorOf()).toMatchObject({ errorCode: 'UNAVAILABLE', retryable: true, status: undefined });
});

test.each([
  [400, 'INVALID_ARGUMENT', false],
  [401, 'UNAUTHENTICATED', false],
  [403, 'PERMISSION_DENIED', false],
  [404, 'NOT_FOUND', false],
  [408, 'DEADLINE_EXCEEDED', true],
  [429, 'RESOURCE_EXHAUSTED', true],
  [500, 'INTERNAL', true],
  [501, 'UNIMPLEMENTED', false],
  [503, 'UNAVAILABLE', true],
  [504, 'DEADLINE_EXCEEDED', true],
])('HTTP status %i is an error with the code %s, streamed or not', async (code, status, retryable) => {
  const reply = errorReply({ code, status, message: `it is ${status}` });
  await server.enqueue(reply, reply);
  for (const stream of [false, true]) {
    expect(await errorOf({}, stream)).toMatchObject({
      message: expect.stringContaining(`it is ${status}`),
      errorCode: status,
      status: code,
      retryable,
    });
  }
});

test("an error body that is not the service's gets the code of its HTTP status", async () => {
  await server.enqueue(
    { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' },
    { status: 502, headers: { 'content-type': 'application/json' }, body: '' },
    { status: 418, headers: { 'content-type': 'text/plain' }, body: '' },
    { status: 404, headers: { 'content-type': 'application/json' }, body: { message: 'no such route' } },
  );
  expect(await errorOf()).toMatchObject({
    message: '<h1>Bad Gateway</h1>',
    errorCode: 'UNAVAILABLE',
    status: 502,
    retryable: true,
  });
  expect(await errorOf()).toMatchObject({ errorCode: 'UNAVAILABLE', status: 502, retryable: true });
  expect(await errorOf()).toMatchObject({
    message: 'the service answered with HTTP status 418',
    errorCode: 'INVALID_ARGUMENT',
  });
  expect(await errorOf()).toMatchObject({
    message: 'model "gemini-2.5-flash": no such route; check the name of the model, and the baseUrl if there is one',
    errorCode: 'NOT_FOUND',
  });
});

test('a reply that is not JSON is not retried', async () => {
  await server.enqueue({ body: '<html>login</html>' });
  await expect(responsesTo(gemini())).rejects.toMatchObject({
    code: 'MODEL',
    errorCode: 'DATA_LOSS',
    retryable: false,
  });
});

test('a request that the client refuses is not retried', async () => {
  const model = gemini();
  const request = requestOf('Hi');
  request.config['audioTimestamp'] = true;
  await expect(model.generateContentAsync(request).next()).rejects.toMatchObject({
    code: 'MODEL',
    errorCode: 'REQUEST_NOT_SENT',
    retryable: false,
    message: expect.stringContaining('audioTimestamp'),
  });
});

test('a reply that takes longer than the timeout is a retryable error', async () => {
  await server.enqueue(hangReply());
  // Long enough for the request to arrive first, also on a busy machine.
  const late = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const failing = errorOf({ httpOptions: { timeout: 1000 } });
    await server.requests(1);
    vi.advanceTimersByTime(1000);
    late.abort(new DOMException('The operation timed out.', 'TimeoutError'));
    expect(await failing).toMatchObject({ errorCode: 'DEADLINE_EXCEEDED', retryable: true });
  } finally {
    vi.useRealTimers();
    timeout.mockRestore();
  }
});

test('keys appear in no message and no cause', async () => {
  const secret = 'a-very-secret-key';
  const other = `AIza${'x'.repeat(35)}`;
  await server.enqueue(
    errorReply({
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: `API key ${secret} of ${other} at ?key=abcdef not valid`,
    }),
  );
  const refused = await errorOf();
  expect(refused.message).toContain('API key [redacted] of [redacted] at ?key=[redacted] not valid; check the apiKey');
  expect(refused.cause).toBeUndefined();
  const unsent = await errorOf({ apiKey: ` ${secret}\nx` });
  expect(unsent.errorCode).toBe('REQUEST_NOT_SENT');
  const header = await errorOf({ headers: { authorization: 'Bearer secret-token\nx' } });
  for (const text of [unsent, header].flatMap((error) => [error.message, error.stack, String(error.cause)])) {
    expect(text).not.toMatch(/secret-(key|token)/);
  }
});
