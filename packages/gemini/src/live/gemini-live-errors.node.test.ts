// Needs a server in this process, so it runs on Node only. Tests for all runtimes are in gemini-live-network.test.ts.
import { LiveConnectionError, RunAbortedError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { type FakeLiveScript } from '@eventloom/testing/fake-gemini';
import { GoogleGenAI } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { KEY, liveServerForEachTest, requestWith } from './fixtures/live-server.ts';

const server = liveServerForEachTest();
const { gemini, refusal } = server;

/** Returns the error that ends a connection that was set up. */
async function ending(script: FakeLiveScript): Promise<unknown> {
  server.live.enqueue(script);
  const connection = await gemini().connect(requestWith());
  try {
    for await (const _ of connection.receive());
    return undefined;
  } catch (error) {
    await expect(connection.sendActivityStart?.()).rejects.toBe(error);
    return error;
  }
}

describe('a connection after its setup', () => {
  test.each([1000, 1001, 1008, 1011])('that closes with %i is retryable', async (close) => {
    const error = await ending([{ serverContent: { turnComplete: true } }, { close, reason: 'too long' }]);
    expect(error).toMatchObject({
      code: 'LIVE_CONNECTION',
      closeCode: close,
      isRetryable: true,
      isHandleRefused: false,
    });
    expect(String(error)).toContain('too long');
  });

  test('that closes because of invalid input is not retryable', async () => {
    expect(await ending([{ close: 1007, reason: 'invalid' }])).toMatchObject({ closeCode: 1007, isRetryable: false });
  });

  test('that is interrupted is retryable', async () => {
    expect(await ending([{ cut: true }])).toMatchObject({ closeCode: 1006, isRetryable: true });
  });

  test.each(['{"serverContent":', '"text"', '{"toolCall":{"functionCalls":"f"}}'])(
    'that receives the frame %s ends without ending the process',
    async (frame) => {
      server.live.enqueue([{ heard: 'realtimeInput' }, frame]);
      const connection = await gemini().connect(requestWith());
      await connection.sendActivityStart?.();
      await expect(connection.receive().next()).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
      await (
        await server.live.connection(0)
      ).closed;
    },
  );

  test('reads null in a frame as an absent field', async () => {
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

  test('yields the frames that arrived before its end', async () => {
    server.live.enqueue([{ serverContent: { turnComplete: true } }, { close: 1011 }]);
    const connection = await gemini().connect(requestWith());
    const reader = connection.receive();
    await (
      await server.live.connection(0)
    ).closed;
    expect((await reader.next()).value).toEqual({ turnComplete: true });
    await expect(reader.next()).rejects.toThrow(LiveConnectionError);
  });

  test.each(['given', 'configured'])('ends at once with its socket when it is aborted, %s', async (how) => {
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
    await expect(connection.sendActivityStart?.()).rejects.toThrow(RunAbortedError);
    await (
      await server.live.connection(0)
    ).closed;
  });
});

test('an abort takes effect before unread frames', async () => {
  const controller = new AbortController();
  server.live.enqueue([{ serverContent: { turnComplete: true } }, { serverContent: { turnComplete: true } }]);
  const connection = await gemini().connect(requestWith(), controller.signal);
  const reader = connection.receive();
  await reader.next();
  controller.abort();
  await expect(reader.next()).rejects.toThrow(RunAbortedError);
});

describe('API keys', () => {
  test('appear in no message and no cause', async () => {
    const reasons = [`key ${KEY} is not valid`, `see wss://host/ws?key=${KEY}`];
    for (const reason of reasons) {
      const error = await refusal({ setup: { close: 1007, reason } });
      expect(error).toBeInstanceOf(LiveConnectionError);
      expect(String(error)).not.toContain(KEY);
      expect(error).not.toHaveProperty('cause.message', expect.stringContaining(KEY));
    }
  });

  test('appear in no error of an unreachable host', async () => {
    const error = await gemini({ baseUrl: 'http://nowhere.invalid' })
      .connect(requestWith())
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LiveConnectionError);
    expect(JSON.stringify(error) + String(error)).not.toContain(KEY);
  });
});

describe('a given client that hides its WebSocket factory', () => {
  /** The real client, behind an object that exposes only its method. */
  function foreign() {
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: server.url } });
    const { models, live } = client;
    return { vertexai: false, models, live: { connect: live.connect.bind(live) } };
  }

  test('connects and reports how the connection ended', async () => {
    server.live.enqueue([
      { serverContent: { turnComplete: true }, usageMetadata: { responseTokenCount: 2 } },
      { close: 1011, reason: 'x' },
    ]);
    const connection = await gemini({ client: foreign() }).connect(requestWith());
    const reader = connection.receive();
    expect((await reader.next()).value).toEqual({ turnComplete: true, usageMetadata: { candidatesTokenCount: 2 } });
    await expect(reader.next()).rejects.toMatchObject({ closeCode: 1011 });
  });

  test('fails the reader at an invalid frame without ending the process', async () => {
    server.live.enqueue([
      '{"serverContent":{"outputTranscription":null,"turnComplete":true}}',
      '{"toolCall":{"functionCalls":"f"}}',
    ]);
    const reader = (await gemini({ client: foreign() }).connect(requestWith())).receive();
    expect((await reader.next()).value).toEqual({ turnComplete: true });
    await expect(reader.next()).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  });

  test('is closed when its setup completes after an abort', async () => {
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
