import { createLlmRequest, ModelError, type LlmResponse } from '@eventloom/core';
import { fixedPlatform, type FixedPlatform } from '@eventloom/testing';
import {
  cutReply,
  errorBody,
  errorReply,
  hangReply,
  jsonReply,
  sseReply,
  wireResponse,
} from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini, type GeminiOptions } from './gemini.ts';

let server: DistantGemini;
let platform: FixedPlatform;
beforeEach(async () => {
  server = await DistantGemini.start();
  platform = fixedPlatform();
});
afterEach(async () => {
  await server.close();
  server.assertConsumed();
  expect(platform.pendingTimers).toBe(0);
});

function gemini(options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({
    model: 'gemini-2.5-flash',
    apiKey: 'a-very-secret-key',
    baseUrl: server.url,
    retry: { random: () => 0 },
    platform,
    ...options,
  });
}

async function ask(model = gemini(), stream = false): Promise<LlmResponse[]> {
  const request = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
  const responses: LlmResponse[] = [];
  for await (const response of model.generateContentAsync(request, stream)) responses.push(response);
  return responses;
}

/** The error of a call that is asked once. */
async function errorOf(options: Partial<GeminiOptions> = {}, stream = false): Promise<ModelError> {
  const error: unknown = await ask(gemini({ retry: { attempts: 1 }, ...options }), stream).then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}

/** Lets time pass until the next attempt, and tells how long that was. */
async function passWait(): Promise<number> {
  const delayMs = await platform.nextTimer();
  platform.advance(delayMs);
  return delayMs;
}

const busy = errorReply({ code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' });
const hello = jsonReply(wireResponse('Hello'));

test('an overloaded service is asked again, after waits that double', async () => {
  await server.enqueue(busy, busy, busy, hello);
  const asked = ask();
  expect([await passWait(), await passWait(), await passWait()]).toEqual([1000, 2000, 4000]);
  expect(await asked).toMatchObject([{ content: { parts: [{ text: 'Hello' }] } }]);
});

test('when it stays so the last error is thrown', async () => {
  await server.enqueue(busy, busy);
  const asked = ask(gemini({ retry: { attempts: 2, initialDelayMs: 10, random: () => 0 } }));
  const failed = expect(asked).rejects.toMatchObject({
    code: 'MODEL',
    message: 'The model is overloaded.',
    errorCode: 'UNAVAILABLE',
    status: 503,
    retryable: true,
  });
  expect(await passWait()).toBe(10);
  await failed;
});

test('the delay that the service names in its error is kept', async () => {
  await server.enqueue(errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', retryDelay: '34.4s' }), hello);
  const asked = ask();
  expect(await passWait()).toBe(34_400);
  expect(await asked).toHaveLength(1);
});

test.each([
  ['7', 7000],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9000],
])('the delay that the service names in a header is kept: %s', async (header, waitMs) => {
  await server.enqueue(
    errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED' }, { headers: { 'retry-after': header } }),
    hello,
  );
  const asked = ask();
  expect(await passWait()).toBe(waitMs);
  await asked;
});

test('a delay longer than any wait allowed is not waited for, and is in the error', async () => {
  await server.enqueue(errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', retryDelay: '3600s' }));
  await expect(ask()).rejects.toMatchObject({
    errorCode: 'RESOURCE_EXHAUSTED',
    retryAfterMs: 3_600_000,
    retryable: true,
  });
});

test('a quota of a day that is used up is not waited for', async () => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations }];
  await server.enqueue(errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', details, retryDelay: '20s' }));
  await expect(ask()).rejects.toMatchObject({ errorCode: 'RESOURCE_EXHAUSTED', status: 429, retryable: false });
});

test('waits are shortened by chance, and what the service asks for is only lengthened', async () => {
  await server.enqueue(busy, errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', retryDelay: '5s' }), hello);
  const asked = ask(gemini({ retry: { random: () => 0.5, jitter: 1 } }));
  expect([await passWait(), await passWait()]).toEqual([500, 5500]);
  await asked;
});

test('no wait of its own is longer than the longest', async () => {
  await server.enqueue(busy, busy, busy, hello);
  const asked = ask(gemini({ retry: { initialDelayMs: 1000, maxDelayMs: 1500, random: () => 0 } }));
  expect([await passWait(), await passWait(), await passWait()]).toEqual([1000, 1500, 1500]);
  await asked;
});

test('a connection that is lost before anything came is tried again, streamed or not', async () => {
  await server.enqueue(
    cutReply(),
    hello,
    sseReply([], { end: 'cut' }),
    sseReply([{}], { end: 'cut' }),
    sseReply([wireResponse('Hello')]),
  );
  const whole = ask();
  expect(await passWait()).toBe(1000);
  expect(await whole).toHaveLength(1);
  const streamed = ask(gemini(), true);
  expect([await passWait(), await passWait()]).toEqual([1000, 2000]);
  expect(await streamed).toHaveLength(2);
});

test('an error in the first frame of a stream is tried again', async () => {
  await server.enqueue(sseReply([errorBody({ code: 503, status: 'UNAVAILABLE' })]), sseReply([wireResponse('Hello')]));
  const asked = ask(gemini(), true);
  await passWait();
  expect(await asked).toHaveLength(2);
});

test('a connection of a client made elsewhere that is lost is told as such', async () => {
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

test('no service at all is an error that can be tried again', async () => {
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
])('HTTP status %i is an error with the service’s code %s, streamed or not', async (code, status, retryable) => {
  const reply = errorReply({ code, status, message: `it is ${status}` });
  await server.enqueue(reply, reply);
  for (const stream of [false, true]) {
    expect(await errorOf({}, stream)).toMatchObject({
      message: `it is ${status}`,
      errorCode: status,
      status: code,
      retryable,
    });
  }
});

test('an error that is not the service’s own gets the code of its status', async () => {
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
  expect(await errorOf()).toMatchObject({ message: 'no such route', errorCode: 'NOT_FOUND' });
});

test('an answer that is no JSON is an error that is not tried again', async () => {
  await server.enqueue({ body: '<html>login</html>' });
  await expect(ask()).rejects.toMatchObject({ code: 'MODEL', errorCode: 'DATA_LOSS', retryable: false });
});

test('a request that the client refuses is an error that is not tried again', async () => {
  const model = gemini();
  const request = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
  request.config['audioTimestamp'] = true;
  await expect(model.generateContentAsync(request).next()).rejects.toMatchObject({
    code: 'MODEL',
    errorCode: 'REQUEST_NOT_SENT',
    retryable: false,
    message: expect.stringContaining('audioTimestamp'),
  });
});

test('a service that takes longer than the timeout is an error that can be tried again', async () => {
  await server.enqueue(hangReply());
  expect(await errorOf({ httpOptions: { timeout: 20 } })).toMatchObject({
    errorCode: 'DEADLINE_EXCEEDED',
    retryable: true,
  });
});

test('keys are in no message and in no cause', async () => {
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
  expect(refused.message).toBe('API key [redacted] of [redacted] at ?key=[redacted] not valid');
  expect(refused.cause).toBeUndefined();
  const unsent = await errorOf({ apiKey: ` ${secret}\nx` });
  expect(unsent.errorCode).toBe('REQUEST_NOT_SENT');
  const header = await errorOf({ headers: { authorization: 'Bearer secret-token\nx' } });
  for (const text of [unsent, header].flatMap((error) => [error.message, error.stack, String(error.cause)])) {
    expect(text).not.toMatch(/secret-(key|token)/);
  }
});
