import { once } from 'node:events';
import { connect } from 'node:net';
import type { LiveLlmResponse } from '@eventloom/core';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedLiveModel } from '@eventloom/testing';
import { type Row } from '../report.ts';

const SECONDS = 30;
/** 16-bit samples at 24 kHz. */
const BYTES_A_SECOND = 48_000;

/**
 * Measures the bytes of half a minute of the model's speech on the way to a client: audio in events as base64, and
 * binary frames beside events.
 */
export async function liveWire(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const pieceMs of [20, 40, 100, 240]) {
    const whole = await bytesOnTheWire(pieceMs, 'base64');
    const binary = await bytesOnTheWire(pieceMs, 'binary');
    const figure = `30 s of speech as binary frames, in pieces of ${pieceMs} ms`;
    rows.push({ workload: 'live', figure, unit: 'kB', ours: binary / 1000, floor: whole / 1000 });
  }
  return rows;
}

/** Measures the bytes of the whole connection, as the client's socket counts them. */
async function bytesOnTheWire(pieceMs: number, audio: 'base64' | 'binary'): Promise<number> {
  const data = Buffer.alloc((BYTES_A_SECOND * pieceMs) / 1000, 1).toString('base64');
  const piece: LiveLlmResponse = {
    content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data } }] },
  };
  const pieces = Array.from({ length: (SECONDS * 1000) / pieceMs }, () => piece);
  const model = new ScriptedLiveModel([[...pieces, { turnComplete: true }]]);
  const agent = new LlmAgent({ name: 'speaker', model });
  const runner = new Runner({
    appName: 'voice',
    agent,
    live: live(),
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  const server = await serve(createServer({ runners: [runner], live: liveEndpoint() }), { port: 0, drainMs: 0 });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(
    `GET /run_live?app_name=voice&user_id=me&session_id=s&audio=${audio} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n` +
      'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    if (chunk.includes('"turnComplete":true')) break;
  }
  const bytes = socket.bytesRead;
  socket.destroy();
  await server.shutDown();
  return bytes;
}
