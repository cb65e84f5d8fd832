// Needs a server in this process, so it runs on Node only. Tests for all runtimes are in gemini-live-network.test.ts.
import { ConfigurationError, LiveConnectionError, RunAbortedError } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import { GoogleGenAI } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { KEY, liveServerForEachTest, requestWith } from './fixtures/live-server.ts';

/** False for the sockets of browsers, which do not expose the status of a refused handshake. */
const tellsStatus = process.env['GEMINI_SOCKETS'] !== 'web';

const server = liveServerForEachTest();
const { gemini, refusal } = server;

describe('a setup', () => {
  test.each([1007, 1008])('that closes with %i is not retryable, and the error has the reason', async (close) => {
    const error = await refusal({ setup: { close, reason: 'models/x is not found for bidiGenerateContent' } });
    expect(error).toBeInstanceOf(LiveConnectionError);
    expect(error).toMatchObject({ closeCode: close, isRetryable: false, isHandleRefused: false });
    expect(String(error)).toContain('models/x is not found for bidiGenerateContent');
  });

  test.each([1000, 1001, 1011, 1012, 1013])('that closes with %i is retryable', async (close) => {
    expect(await refusal({ setup: { close, reason: 'later' } })).toMatchObject({
      code: 'LIVE_CONNECTION',
      closeCode: close,
      isRetryable: true,
    });
  });

  test('that is interrupted is retryable', async () => {
    expect(await refusal({ setup: { cut: true } })).toMatchObject({ closeCode: 1006, isRetryable: true });
  });

  test('that is answered with an error throws its message', async () => {
    const error = await refusal({ setup: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'no voice' } } });
    expect(error).toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: false });
    expect(String(error)).toContain('no voice');
    await (
      await server.live.connection(0)
    ).closed;
  });

  test.each([{ status: 'UNAVAILABLE' }, {}])('that is answered with 503 is retryable: %j', async (status) => {
    const error = await refusal({ setup: { error: { code: 503, ...status, message: 'too many' } } });
    expect(error).toMatchObject({ isRetryable: true, errorCode: 'UNAVAILABLE' });
  });

  test.each([
    [1011, 'You exceeded your current quota, please check your plan', 'RESOURCE_EXHAUSTED', true],
    [1008, 'Quota exceeded for live sessions', 'RESOURCE_EXHAUSTED', false],
    [1011, 'The service is currently unavailable.', 'UNAVAILABLE', true],
    [1011, 'Deadline expired before operation could complete.', 'DEADLINE_EXCEEDED', true],
    [1011, 'Internal error encountered.', undefined, true],
    [1008, 'models/x is unavailable', undefined, false],
  ])('that closes with %i and "%s" has the code %s', async (close, reason, errorCode, isRetryable) => {
    expect(await refusal({ setup: { close, reason } })).toMatchObject({ errorCode, isRetryable });
  });

  test('that is answered with invalid JSON is retryable and does not end the process', async () => {
    expect(await refusal({ setup: '<html>' })).toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  });

  test.skipIf(!tellsStatus).each([
    [401, false, undefined],
    [403, false, undefined],
    [404, false, undefined],
    [429, true, 'RESOURCE_EXHAUSTED'],
    [503, true, 'UNAVAILABLE'],
  ])('that is answered with HTTP %i is retryable (%s) with the code %s', async (status, isRetryable, errorCode) => {
    expect(await refusal({ status })).toMatchObject({ code: 'LIVE_CONNECTION', isRetryable, errorCode });
  });

  test('to an unreachable host is retryable', async () => {
    const model = gemini({ baseUrl: 'http://127.0.0.1:1' });
    await expect(model.connect(requestWith())).rejects.toMatchObject({ closeCode: 1006, isRetryable: true });
  });

  test('that is never completed times out and closes its socket', async () => {
    const platform = fixedPlatform();
    server.live.enqueue({ setup: null });
    const connecting = gemini({ platform, liveSetupTimeoutMs: 5000 }).connect(requestWith());
    const outcome = expect(connecting).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
    const peer = await server.live.connection(0);
    await peer.heard('setup');
    platform.advance(5000);
    await outcome;
    await peer.closed;
  });

  test('that the client refuses is not retryable and closes its socket', async () => {
    server.live.enqueue({ setup: null });
    await expect(gemini().connect(requestWith({ tools: [{ retrieval: {} }] }))).rejects.toMatchObject({
      code: 'LIVE_CONNECTION',
      isRetryable: false,
    });
    await (
      await server.live.connection(0)
    ).closed;
  });

  test('that is aborted closes its socket', async () => {
    const controller = new AbortController();
    server.live.enqueue({ setup: null });
    const connecting = gemini().connect(requestWith(), controller.signal);
    const outcome = expect(connecting).rejects.toThrow(RunAbortedError);
    const peer = await server.live.connection(0);
    await peer.heard('setup');
    controller.abort(new Error('hung up'));
    await outcome;
    await peer.closed;
    await expect(gemini().connect(requestWith(), controller.signal)).rejects.toThrow(RunAbortedError);
    expect(server.live.attempts).toBe(1);
  });
});

describe('a resumption handle', () => {
  const config = { sessionResumption: { handle: 'h1' } };

  test.each([
    [1008, 'BidiGenerateContent session not found'],
    [1007, 'Invalid session resumption handle.'],
    [1007, 'Request contains an invalid argument.'],
    [1008, ''],
  ])('is refused by a close with %i "%s"', async (close, reason) => {
    expect(await refusal({ setup: { close, reason } }, config)).toMatchObject({
      isRetryable: false,
      isHandleRefused: true,
    });
    expect(await refusal({ setup: { close, reason } })).toMatchObject({ isRetryable: false, isHandleRefused: false });
  });

  test.each([
    [1007, 'API key not valid. Please pass a valid API key.'],
    [1008, 'models/x is not found for API version v1beta'],
  ])('is not refused by a close with %i "%s"', async (close, reason) => {
    expect(await refusal({ setup: { close, reason } }, config)).toMatchObject({ isHandleRefused: false });
  });

  test('is not refused by a close with 1011', async () => {
    expect(await refusal({ setup: { close: 1011, reason: 'Internal error' } }, config)).toMatchObject({
      isRetryable: true,
      isHandleRefused: false,
    });
  });
});

test('a client without live throws a ConfigurationError', async () => {
  const { models } = new GoogleGenAI({ apiKey: KEY });
  await expect(gemini({ client: { vertexai: false, models } }).connect(requestWith())).rejects.toThrow(
    ConfigurationError,
  );
});
