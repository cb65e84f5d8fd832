import { type LlmRequest, RunAbortedError, createLlmRequest } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { errorReply, hangReply, sseReply, wireChunks } from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { beforeEach, expect, test } from 'vitest';
import { DistantGemini } from './fixtures/distant-gemini.ts';
import { Gemini, type GeminiOptions } from './gemini.ts';

const server = DistantGemini.forEachTest();
let controller: AbortController;
beforeEach(() => {
  controller = new AbortController();
});

const request: LlmRequest = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };

function gemini(options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({ model: 'gemini-2.5-flash', apiKey: 'a-test-key', baseUrl: server.url, ...options });
}

test.each([false, true])('an abort before the reply closes the socket (streamed: %s)', async (stream) => {
  await server.enqueue(hangReply());
  const asked = gemini().generateContentAsync(request, stream, controller.signal).next();
  await server.requests(1);
  controller.abort(new TypeError('enough'));
  await expect(asked).rejects.toMatchObject({ code: 'RUN_ABORTED', cause: { message: 'enough' } });
  expect(await server.ended(1)).toMatchObject([{ closedByClient: true }]);
});

test('an abort in mid-stream closes the socket', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky']), { end: 'hang' }));
  const chunks = gemini().generateContentAsync(request, true, controller.signal);
  await chunks.next();
  await chunks.next();
  const waiting = chunks.next();
  controller.abort();
  await expect(waiting).rejects.toBeInstanceOf(RunAbortedError);
  expect(await server.ended(1)).toMatchObject([{ closedByClient: true }]);
});

test('an abort between two chunks makes the next read throw', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky']), { end: 'hang' }));
  const chunks = gemini().generateContentAsync(request, true, controller.signal);
  await chunks.next();
  controller.abort();
  await expect(chunks.next()).rejects.toBeInstanceOf(RunAbortedError);
});

test('after an abort chunks that already arrived are not yielded', async () => {
  const frames = wireChunks(['The', ' sky', ' is']).map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`);
  await server.enqueue(sseReply([frames.join('')]));
  const chunks = gemini().generateContentAsync(request, true, controller.signal);
  await chunks.next();
  controller.abort();
  await expect(chunks.next()).rejects.toBeInstanceOf(RunAbortedError);
});

test('a consumer that stops reading closes the socket', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky']), { end: 'hang' }));
  for await (const chunk of gemini().generateContentAsync(request, true)) {
    expect(chunk.content?.parts).toEqual([{ text: 'The' }]);
    break;
  }
  expect(await server.ended(1)).toMatchObject([{ closedByClient: true }]);
});

test('the stream of a given client is closed when the reader stops', async () => {
  await server.enqueue(sseReply(wireChunks(['The', ' sky']), { end: 'hang' }));
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: server.url } });
  const chunks = gemini({ client }).generateContentAsync(request, true);
  await chunks.next();
  await chunks.return();
  expect(await server.ended(1)).toMatchObject([{ closedByClient: true }]);
});

test('an abort ends the delay before a retry, and no request follows', async () => {
  const platform = fixedPlatform();
  await server.enqueue(errorReply({ code: 503, status: 'UNAVAILABLE' }));
  const asked = gemini({ platform }).generateContentAsync(request, false, controller.signal).next();
  await platform.nextTimer();
  controller.abort();
  await expect(asked).rejects.toBeInstanceOf(RunAbortedError);
  expect(platform.pendingTimers).toBe(0);
});

test('after an abort no request is sent', async () => {
  controller.abort();
  const asked = gemini().generateContentAsync(request, false, controller.signal).next();
  await expect(asked).rejects.toBeInstanceOf(RunAbortedError);
  expect(await server.requests()).toEqual([]);
});

test('an abortSignal in the request config ends the call', async () => {
  await server.enqueue(hangReply());
  const config = { abortSignal: controller.signal };
  const asked = gemini()
    .generateContentAsync({ ...request, config })
    .next();
  await server.requests(1);
  controller.abort();
  await expect(asked).rejects.toBeInstanceOf(RunAbortedError);
});

test("no listener is left on the caller's signal", async () => {
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  Object.assign(signal, {
    addEventListener: (...args: Parameters<typeof add>) => (listeners++, add(...args)),
    removeEventListener: (...args: Parameters<typeof remove>) => (listeners--, remove(...args)),
  });
  await server.enqueue(sseReply(wireChunks(['The', ' sky'])), errorReply({ code: 400, status: 'INVALID_ARGUMENT' }));
  for await (const chunk of gemini().generateContentAsync(request, true, signal))
    expect(chunk.errorCode).toBeUndefined();
  await expect(gemini().generateContentAsync(request, false, signal).next()).rejects.toThrow();
  expect(listeners).toBe(0);
});
