// Needs the other side of the connection at hand, which is a server of node. What all runtimes do is in gemini-live-network.test.ts.
import {
  ConfigurationError,
  createLlmRequest,
  LiveConnectionError,
  type LlmRequest,
  RunAbortedError,
} from '@eventloom/core';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { type FakeLiveScript, FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Gemini, type GeminiOptions } from '../gemini.ts';

/** False for the sockets of browsers, which do not tell the status that a handshake is refused with. */
const tellsStatus = process.env['GEMINI_SOCKETS'] !== 'web';
const KEY = 'AIzaSyA-1234567890abcdefghijklmnopqrstu';

let server: FakeGeminiServer;
beforeEach(async () => {
  server = await FakeGeminiServer.start();
});
afterEach(async () => {
  await server.close();
  server.assertConsumed();
});

function gemini(options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({ model: 'gemini-live', apiKey: KEY, baseUrl: server.url, ...options });
}

function requestWith(config: LlmRequest['config'] = {}): LlmRequest {
  return { ...createLlmRequest(), config };
}

/** What comes of connecting. */
async function refusal(script: FakeLiveScript, config: LlmRequest['config'] = {}): Promise<unknown> {
  server.live.enqueue(script);
  return gemini()
    .connect(requestWith(config))
    .then(
      () => undefined,
      (error: unknown) => error,
    );
}

/** What ends a connection that was set up. */
async function ending(script: FakeLiveScript): Promise<unknown> {
  server.live.enqueue(script);
  const connection = await gemini().connect(requestWith());
  try {
    for await (const _ of connection.receive());
    return undefined;
  } catch (error) {
    await expect(connection.sendActivityStart()).rejects.toBe(error);
    return error;
  }
}

describe('a setup', () => {
  test.each([1007, 1008])('that is refused with %i is not tried again, and the service says why', async (close) => {
    const error = await refusal({ setup: { close, reason: 'models/x is not found for bidiGenerateContent' } });
    expect(error).toBeInstanceOf(LiveConnectionError);
    expect(error).toMatchObject({ closeCode: close, isRetryable: false, isHandleRefused: false });
    expect(String(error)).toContain('models/x is not found for bidiGenerateContent');
  });

  test.each([1000, 1001, 1011, 1012, 1013])('that ends with %i may be tried again', async (close) => {
    expect(await refusal({ setup: { close, reason: 'later' } })).toMatchObject({
      code: 'LIVE_CONNECTION',
      closeCode: close,
      isRetryable: true,
    });
  });

  test('whose network dies may be tried again', async () => {
    expect(await refusal({ setup: { cut: true } })).toMatchObject({ closeCode: 1006, isRetryable: true });
  });

  test('that is answered with an error is refused with its words', async () => {
    const error = await refusal({ setup: { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'no voice' } } });
    expect(error).toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: false });
    expect(String(error)).toContain('no voice');
    await (
      await server.live.connection(0)
    ).closed;
  });

  test('that is answered with an error of the service itself may be tried again', async () => {
    const error = await refusal({ setup: { error: { code: 503, status: 'UNAVAILABLE', message: 'too many' } } });
    expect(error).toMatchObject({ isRetryable: true, errorCode: 'UNAVAILABLE' });
  });

  test.each([
    [1011, 'You exceeded your current quota, please check your plan', 'RESOURCE_EXHAUSTED', true],
    [1008, 'Quota exceeded for live sessions', 'RESOURCE_EXHAUSTED', false],
    [1011, 'The service is currently unavailable.', 'UNAVAILABLE', true],
    [1011, 'Deadline expired before operation could complete.', 'DEADLINE_EXCEEDED', true],
    [1011, 'Internal error encountered.', undefined, true],
    [1008, 'models/x is unavailable', undefined, false],
  ])('that ends with %i and "%s" has the code %s', async (close, reason, errorCode, isRetryable) => {
    expect(await refusal({ setup: { close, reason } })).toMatchObject({ errorCode, isRetryable });
  });

  test('that is answered with what is no JSON may be tried again, and the process lives', async () => {
    expect(await refusal({ setup: '<html>' })).toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  });

  test.skipIf(!tellsStatus).each([
    [401, false, undefined],
    [403, false, undefined],
    [404, false, undefined],
    [429, true, 'RESOURCE_EXHAUSTED'],
    [503, true, 'UNAVAILABLE'],
  ])('that HTTP answers with %i: retryable is %s, and the code %s', async (status, isRetryable, errorCode) => {
    expect(await refusal({ status })).toMatchObject({ code: 'LIVE_CONNECTION', isRetryable, errorCode });
  });

  test('at a place where nothing listens may be tried again', async () => {
    const model = gemini({ baseUrl: 'http://127.0.0.1:1' });
    await expect(model.connect(requestWith())).rejects.toMatchObject({ closeCode: 1006, isRetryable: true });
  });

  test('that is never completed ends after its time, with the socket', async () => {
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

  test('that the client refuses fails without a retry, with the socket', async () => {
    server.live.enqueue({ setup: null });
    await expect(gemini().connect(requestWith({ tools: [{ retrieval: {} }] }))).rejects.toMatchObject({
      code: 'LIVE_CONNECTION',
      isRetryable: false,
    });
    await (
      await server.live.connection(0)
    ).closed;
  });

  test('whose abort fires ends with the socket', async () => {
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
  ])('that is refused with %i "%s" is known for it', async (close, reason) => {
    expect(await refusal({ setup: { close, reason } }, config)).toMatchObject({
      isRetryable: false,
      isHandleRefused: true,
    });
    expect(await refusal({ setup: { close, reason } })).toMatchObject({ isRetryable: false, isHandleRefused: false });
  });

  test.each([
    [1007, 'API key not valid. Please pass a valid API key.'],
    [1008, 'models/x is not found for API version v1beta'],
  ])('has nothing to do with %i "%s"', async (close, reason) => {
    expect(await refusal({ setup: { close, reason } }, config)).toMatchObject({ isHandleRefused: false });
  });

  test('is not at fault when the service is out of order', async () => {
    expect(await refusal({ setup: { close: 1011, reason: 'Internal error' } }, config)).toMatchObject({
      isRetryable: true,
      isHandleRefused: false,
    });
  });
});

describe('a connection that was set up', () => {
  test.each([1000, 1001, 1008, 1011])('and ends with %i may be made again', async (close) => {
    const error = await ending([{ serverContent: { turnComplete: true } }, { close, reason: 'too long' }]);
    expect(error).toMatchObject({
      code: 'LIVE_CONNECTION',
      closeCode: close,
      isRetryable: true,
      isHandleRefused: false,
    });
    expect(String(error)).toContain('too long');
  });

  test('and ends because what was sent is invalid is not made again', async () => {
    expect(await ending([{ close: 1007, reason: 'invalid' }])).toMatchObject({ closeCode: 1007, isRetryable: false });
  });

  test('whose network dies may be made again', async () => {
    expect(await ending([{ cut: true }])).toMatchObject({ closeCode: 1006, isRetryable: true });
  });

  test.each(['{"serverContent":', '"text"', '{"toolCall":{"functionCalls":"f"}}'])(
    'and gets the frame %s ends, and the process lives',
    async (frame) => {
      server.live.enqueue([{ heard: 'realtimeInput' }, frame]);
      const connection = await gemini().connect(requestWith());
      await connection.sendActivityStart();
      await expect(connection.receive().next()).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
      await (
        await server.live.connection(0)
      ).closed;
    },
  );

  test('takes a null in a frame for what was left out', async () => {
    server.live.enqueue([
      '{"serverContent":{"inputTranscription":null,"modelTurn":{"parts":[null,{"text":"Hi"}]},"turnComplete":null}}',
      '{"usageMetadata":null,"toolCall":null,"goAway":null,"sessionResumptionUpdate":null,"error":null}',
      { serverContent: { turnComplete: true } },
      { close: 1000 },
    ]);
    const reader = (await gemini().connect(requestWith())).receive();
    expect((await reader.next()).value).toEqual({ content: { role: 'model', parts: [{ text: 'Hi' }] } });
    expect((await reader.next()).value).toEqual({ turnComplete: true });
    await reader.return();
  });

  test('gives what came before its end', async () => {
    server.live.enqueue([{ serverContent: { turnComplete: true } }, { close: 1011 }]);
    const connection = await gemini().connect(requestWith());
    const reader = connection.receive();
    await (
      await server.live.connection(0)
    ).closed;
    expect((await reader.next()).value).toEqual({ turnComplete: true });
    await expect(reader.next()).rejects.toThrow(LiveConnectionError);
  });

  test.each(['given', 'configured'])('and whose abort, %s, fires ends at once with its socket', async (how) => {
    const controller = new AbortController();
    server.live.enqueue([{ serverContent: { turnComplete: true } }]);
    const connection =
      how === 'given'
        ? await gemini().connect(requestWith(), controller.signal)
        : await gemini().connect(requestWith({ abortSignal: controller.signal }), new AbortController().signal);
    const reader = connection.receive();
    await reader.next();
    const reading = expect(reader.next()).rejects.toThrow(RunAbortedError);
    controller.abort();
    await reading;
    await expect(connection.sendActivityStart()).rejects.toThrow(RunAbortedError);
    await (
      await server.live.connection(0)
    ).closed;
  });
});

test('an abort comes before what is still to be read', async () => {
  const controller = new AbortController();
  server.live.enqueue([{ serverContent: { turnComplete: true } }, { serverContent: { turnComplete: true } }]);
  const connection = await gemini().connect(requestWith(), controller.signal);
  const reader = connection.receive();
  await reader.next();
  controller.abort();
  await expect(reader.next()).rejects.toThrow(RunAbortedError);
});

describe('keys', () => {
  test('are in no message and no cause', async () => {
    const reasons = [`key ${KEY} is not valid`, `see wss://host/ws?key=${KEY}`];
    for (const reason of reasons) {
      const error = await refusal({ setup: { close: 1007, reason } });
      expect(error).toBeInstanceOf(LiveConnectionError);
      expect(String(error)).not.toContain(KEY);
      expect(error).not.toHaveProperty('cause.message', expect.stringContaining(KEY));
    }
  });

  test('of a place that cannot be reached are neither', async () => {
    const error = await gemini({ baseUrl: 'http://nowhere.invalid' })
      .connect(requestWith())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LiveConnectionError);
    expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
  });
});

test('a client without a live side is refused', async () => {
  const { models } = new GoogleGenAI({ apiKey: KEY });
  await expect(gemini({ client: { vertexai: false, models } }).connect(requestWith())).rejects.toThrow(
    ConfigurationError,
  );
});

describe('a client that makes its sockets otherwise', () => {
  /** The real client, behind an object that shows no more than its method. */
  function foreign() {
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: server.url } });
    const { models, live } = client;
    return { vertexai: false, models, live: { connect: live.connect.bind(live) } };
  }

  test('works, as far as it goes', async () => {
    server.live.enqueue([
      { serverContent: { turnComplete: true }, usageMetadata: { responseTokenCount: 2 } },
      { close: 1011, reason: 'x' },
    ]);
    const connection = await gemini({ client: foreign() }).connect(requestWith());
    const reader = connection.receive();
    expect((await reader.next()).value).toEqual({ turnComplete: true, usageMetadata: { candidatesTokenCount: 2 } });
    await expect(reader.next()).rejects.toMatchObject({ closeCode: 1011 });
  });

  test('ends with a frame that cannot be read, and the process lives', async () => {
    server.live.enqueue([
      '{"serverContent":{"outputTranscription":null,"turnComplete":true}}',
      '{"toolCall":{"functionCalls":"f"}}',
    ]);
    const reader = (await gemini({ client: foreign() }).connect(requestWith())).receive();
    expect((await reader.next()).value).toEqual({ turnComplete: true });
    await expect(reader.next()).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  });

  test('is closed when it is set up after the caller left', async () => {
    const gate = new Gate();
    const controller = new AbortController();
    server.live.enqueue({ setup: gate });
    const connecting = gemini({ client: foreign() }).connect(requestWith(), controller.signal);
    const outcome = expect(connecting).rejects.toThrow(RunAbortedError);
    const peer = await server.live.connection(0);
    await peer.heard('setup');
    controller.abort();
    await outcome;
    gate.open();
    await peer.closed;
  });
});
