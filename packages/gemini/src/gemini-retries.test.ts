import { fixedPlatform, type FixedPlatform } from '@eventloom/testing';
import { cutReply, errorBody, errorReply, jsonReply, sseReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { responsesTo } from './fixtures/asked-gemini.ts';
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

/** Advances the clock to the next attempt, and returns the delay. */
async function passWait(): Promise<number> {
  const delayMs = await platform.nextTimer();
  platform.advance(delayMs);
  return delayMs;
}

const busy = errorReply({ code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' });

const hello = jsonReply(wireResponse('Hello'));

beforeEach(() => {
  platform = fixedPlatform();
});

afterEach(() => {
  expect(platform.pendingTimers).toBe(0);
});

test('calls to an overloaded service are retried with doubling delays', async () => {
  await server.enqueue(busy, busy, busy, hello);
  const asked = responsesTo(gemini());
  expect([await passWait(), await passWait(), await passWait()]).toEqual([1000, 2000, 4000]);
  expect(await asked).toMatchObject([{ content: { parts: [{ text: 'Hello' }] } }]);
});

test('the last error is thrown when all attempts fail', async () => {
  await server.enqueue(busy, busy);
  const asked = responsesTo(gemini({ retry: { attempts: 2, initialDelayMs: 10, jitter: 0 } }));
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

test('a retry waits for the delay that the service names', async () => {
  await server.enqueue(errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', retryDelay: '34.4s' }), hello);
  const asked = responsesTo(gemini());
  expect(await passWait()).toBe(34_400);
  expect(await asked).toHaveLength(1);
});

test.each([
  ['7', 7000],
  ['Thu, 01 Jan 2026 00:00:09 GMT', 9000],
])('a retry waits for the delay of a Retry-After header: %s', async (header, waitMs) => {
  await server.enqueue(
    errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED' }, { headers: { 'retry-after': header } }),
    hello,
  );
  const asked = responsesTo(gemini());
  expect(await passWait()).toBe(waitMs);
  await asked;
});

test('a delay above maxDelayMs fails the call at once and is reported in the error', async () => {
  await server.enqueue(errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', retryDelay: '3600s' }));
  await expect(responsesTo(gemini())).rejects.toMatchObject({
    errorCode: 'RESOURCE_EXHAUSTED',
    retryAfterMs: 3_600_000,
    retryable: true,
  });
});

test('an exhausted daily quota is not retried', async () => {
  const violations = [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }];
  const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations }];
  await server.enqueue(errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', details, retryDelay: '20s' }));
  await expect(responsesTo(gemini())).rejects.toMatchObject({
    errorCode: 'RESOURCE_EXHAUSTED',
    status: 429,
    retryable: false,
  });
});

test('jitter shortens computed delays and only lengthens delays that the service names', async () => {
  await server.enqueue(busy, errorReply({ code: 429, status: 'RESOURCE_EXHAUSTED', retryDelay: '5s' }), hello);
  const asked = responsesTo(gemini({ retry: { jitter: 1 } }));
  expect([await passWait(), await passWait()]).toEqual([500, 5500]);
  await asked;
});

test('computed delays do not exceed maxDelayMs', async () => {
  await server.enqueue(busy, busy, busy, hello);
  const asked = responsesTo(gemini({ retry: { initialDelayMs: 1000, maxDelayMs: 1500, jitter: 0 } }));
  expect([await passWait(), await passWait(), await passWait()]).toEqual([1000, 1500, 1500]);
  await asked;
});

test('a connection lost before the reply is retried, streamed or not', async () => {
  await server.enqueue(
    cutReply(),
    hello,
    sseReply([], { end: 'cut' }),
    sseReply([{}], { end: 'cut' }),
    sseReply([wireResponse('Hello')]),
  );
  const whole = responsesTo(gemini());
  expect(await passWait()).toBe(1000);
  expect(await whole).toHaveLength(1);
  const streamed = responsesTo(gemini(), true);
  expect([await passWait(), await passWait()]).toEqual([1000, 2000]);
  expect(await streamed).toHaveLength(2);
});

test('an error in the first frame of a stream is retried', async () => {
  await server.enqueue(sseReply([errorBody({ code: 503, status: 'UNAVAILABLE' })]), sseReply([wireResponse('Hello')]));
  const asked = responsesTo(gemini(), true);
  await passWait();
  expect(await asked).toHaveLength(2);
});
