// Tests of the client's own sockets, which only Node uses: see fetch-socket.ts for other runtimes.
import { LiveConnectionError, createLlmRequest } from '@eventloom/core';
import { fixedPlatform } from '@eventloom/testing';
import type { LiveConnectParameters } from '@google/genai';
import { expect, test } from 'vitest';
import type { GenAiClient } from '../client/genai-client.ts';
import type { ClientSocketCallbacks, ClientSocketFactory } from './client-socket.ts';
import { connectLive } from './connect-live.ts';

const AUDIO_CHARS = 1024 * 1024;

/** Opens a connection over a socket of the test, with members that only the sockets of some runtimes have. */
async function connect(ws: Record<string, unknown>) {
  let socket: ClientSocketCallbacks | undefined;
  const sent: string[] = [];
  /** Connects as the client of `@google/genai` does. */
  const live = {
    webSocketFactory: {
      create: (_url, _headers, callbacks) => {
        socket = callbacks;
        return { ws, connect: () => callbacks.onopen(), send: (text) => sent.push(text), close: () => undefined };
      },
    } as ClientSocketFactory,
    async connect({ callbacks }: LiveConnectParameters) {
      const setUp = Promise.withResolvers<void>();
      const conn = this.webSocketFactory.create(
        'ws://localhost',
        {},
        {
          onopen: () => undefined,
          onmessage: () => setUp.resolve(),
          onerror: (event) => callbacks.onerror?.(event as ErrorEvent),
          onclose: (event) => callbacks.onclose?.(event as CloseEvent),
        },
      );
      conn.connect();
      conn.send('{"setup":{}}');
      socket?.onmessage({ data: '{"setupComplete":{}}' });
      await setUp.promise;
      return {
        sendClientContent: () => conn.send('content'),
        sendRealtimeInput: () => conn.send('realtime'),
        sendToolResponse: () => conn.send('tool'),
        close: () => conn.close(),
      };
    },
  };
  const platform = fixedPlatform();
  const connection = await connectLive(createLlmRequest(), {
    model: 'm',
    // Only the members that a live connection needs.
    client: { vertexai: false, live } as unknown as GenAiClient,
    platform,
    redact: (text) => text,
    setupTimeoutMs: 1000,
    abortSignal: undefined,
  });
  const frame = (data: unknown) => socket?.onmessage({ data });
  const says = (message: object) => frame(JSON.stringify(message));
  return { connection, platform, sent, frame, says };
}

function audio() {
  const inlineData = { mimeType: 'audio/pcm', data: 'A'.repeat(AUDIO_CHARS) };
  return { serverContent: { modelTurn: { parts: [{ inlineData }] } } };
}

test('binaryType is set to arraybuffer', async () => {
  const ws = { binaryType: 'blob' };
  await connect(ws);
  expect(ws.binaryType).toBe('arraybuffer');
});

test('frames of ArrayBuffer and Uint8Array are read', async () => {
  const { connection, frame } = await connect({});
  const bytes = new TextEncoder().encode('{"serverContent":{"modelTurn":{"parts":[{"text":"ü"}]}}}');
  const reader = connection.receive();
  for (const data of [bytes, bytes.buffer]) {
    frame(data);
    expect((await reader.next()).value).toEqual({ content: { role: 'model', parts: [{ text: 'ü' }] } });
  }
});

test('the socket is paused for a slow reader, and resumed when it has read half', async () => {
  const signals: string[] = [];
  const { connection, says } = await connect({
    pause: () => signals.push('pause'),
    resume: () => signals.push('resume'),
  });
  for (let count = 0; count < 4; count++) says(audio());
  expect(signals).toEqual(['pause']);
  const reader = connection.receive();
  for (let count = 0; count < 3; count++) await reader.next();
  expect(signals).toEqual(['pause', 'resume']);
});

test('a slow reader of a socket without pause gets an error after the buffered frames', async () => {
  const { connection, says } = await connect({});
  for (let count = 0; count < 40; count++) says(audio());
  let frames = 0;
  const reading = async () => {
    for await (const _ of connection.receive()) frames++;
  };
  await expect(reading()).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  expect(frames).toBe(32);
});

test('a send waits while bufferedAmount is high', async () => {
  const ws = { bufferedAmount: 1_000_000 };
  const { connection, platform, sent } = await connect(ws);
  const settled: string[] = [];
  const sending = connection.sendActivityStart().then(() => settled.push('sent'));
  expect(sent).toContain('realtime');
  await platform.nextTimer();
  platform.advance(20);
  await platform.nextTimer();
  expect(settled).toEqual([]);
  ws.bufferedAmount = 1000;
  platform.advance(20);
  await sending;
});

test('a socket that accepts no bytes for 15 seconds is terminated', async () => {
  const ws = { bufferedAmount: 1_000_000, terminated: false, terminate: () => (ws.terminated = true) };
  const { connection, platform } = await connect(ws);
  const sending = expect(connection.sendActivityStart()).rejects.toMatchObject({
    code: 'LIVE_CONNECTION',
    closeCode: 1006,
    isRetryable: true,
  });
  for (let waitedMs = 0; waitedMs < 10_000; waitedMs += 20) {
    await platform.nextTimer();
    platform.advance(20);
  }
  ws.bufferedAmount -= 1;
  for (let waitedMs = 0; waitedMs < 14_900; waitedMs += 20) {
    await platform.nextTimer();
    expect(ws.terminated).toBe(false);
    platform.advance(20);
  }
  await platform.nextTimer();
  platform.advance(200);
  await sending;
  expect(ws.terminated).toBe(true);
  await expect(connection.receive().next()).rejects.toThrow(LiveConnectionError);
});
