import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedLiveModel } from '@eventloom/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { call } from './call.ts';

const QUERY = 'app_name=voice&user_id=me&session_id=first&audio=binary&ping=text';

/** Half a second of a tone. */
const tone = Int16Array.from({ length: 12_000 }, (_, index) => 8000 * Math.sin(index / 10));
const speech = { mimeType: 'audio/pcm;rate=24000', data: Buffer.from(tone.buffer).toString('base64') };

let server: NodeServer | undefined;
afterEach(async () => {
  vi.unstubAllGlobals();
  await server?.shutDown();
});

async function start() {
  const model = new ScriptedLiveModel([
    [{ heard: 'blob' }, { heard: 'blob' }, { content: { parts: [{ inlineData: speech }] } }, { turnComplete: true }],
  ]);
  const agent = new LlmAgent({ name: 'speaker', model });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'voice', agent, live: live(), sessionService, autoCreateSession: true });
  server = await serve(createServer({ runners: [runner], live: liveEndpoint() }), { port: 0 });
  return { model, server };
}

function sizesHeard(model: ScriptedLiveModel): number[] {
  const sent = model.connections[0]?.sent ?? [];
  return sent.flatMap((one) => ('blob' in one ? [Buffer.from(one.blob.data ?? '', 'base64').length] : []));
}

test("a page sends microphone audio and plays the model's", async () => {
  const { model, server: listening } = await start();
  const played: number[] = [];
  const recorder: { onmessage?: (event: { data: unknown }) => void } = {};
  class Source {
    onended: (() => void) | undefined;
    constructor(_context: unknown, { buffer }: { buffer: { length: number } }) {
      played.push(buffer.length);
    }
    connect(): void {}
    start(): void {}
    stop(): void {}
  }
  class Context {
    audioWorklet = { addModule: () => Promise.resolve() };
    currentTime = 0;
    createMediaStreamSource = () => ({ connect: () => undefined });
    createBuffer = (_channels: number, length: number, rate: number) => ({
      length,
      duration: length / rate,
      copyToChannel: () => undefined,
    });
    close = () => Promise.resolve();
  }
  class Recorder {
    readonly port = recorder;
  }
  const mediaDevices = { getUserMedia: () => Promise.resolve({ getTracks: () => [] }) };
  vi.stubGlobal('navigator', { mediaDevices });
  vi.stubGlobal('AudioContext', Context);
  vi.stubGlobal('AudioWorkletNode', Recorder);
  vi.stubGlobal('AudioBufferSourceNode', Source);
  const messages: Record<string, unknown>[] = [];
  const over = Promise.withResolvers<void>();
  const hangUp = await call(`ws://127.0.0.1:${listening.port}/run_live?${QUERY}`, (message) => {
    messages.push(message as Record<string, unknown>);
    if ('turnComplete' in message) hangUp();
    if ('closed' in message) over.resolve();
  });
  const speak = setInterval(() => recorder.onmessage?.({ data: new Int16Array(640).buffer }), 1);
  await over.promise;
  clearInterval(speak);
  expect(played).toEqual([12_000]);
  expect(messages.at(-2)).toMatchObject({ turnComplete: true });
  expect(new Set(sizesHeard(model))).toEqual(new Set([1280]));
});
