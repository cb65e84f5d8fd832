// Reads recordings from files.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type FunctionCall, type LlmResponse, ModelError, createLlmRequest } from '@eventloom/core';
import type { GeminiRecording } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { Gemini } from './gemini.ts';

/** Recordings of the real service. They are not part of this repository and may lie next to the checkout. */
const FOLDER = new URL('../../../../shared/fixtures/gemini/http/', import.meta.url);

/** A stream with everything that a truncation can split: texts, a whole call, and a call whose arguments arrive in pieces. */
const OWN_STREAM = [
  reply([{ text: 'I think … ü', thought: true }]),
  reply([{ text: 'Two calls.' }]),
  reply([{ functionCall: { name: 'look', args: { at: 'the ☀️' } } }]),
  reply([{ functionCall: { name: 'pay', willContinue: true } }]),
  reply([
    { functionCall: { partialArgs: [{ jsonPath: '$.to', stringValue: 'A', willContinue: true }], willContinue: true } },
  ]),
  reply([{ functionCall: { partialArgs: [{ jsonPath: '$.to', stringValue: 'nn' }], willContinue: true } }]),
  reply([{ functionCall: {} }]),
  { ...reply([{ text: '' }], 'STOP'), usageMetadata: { totalTokenCount: 9 } },
];

function reply(parts: readonly object[], finishReason?: string): object {
  return { candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }) }] };
}

/** The streams by name, as the frames of their first answer. */
const STREAMS: readonly (readonly [string, readonly object[]])[] = [
  ['with texts and calls', OWN_STREAM],
  ...(existsSync(FOLDER) ? readdirSync(FOLDER) : []).flatMap((name): (readonly [string, readonly object[]])[] => {
    const { stream, interactions } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as GeminiRecording;
    const frames = (interactions[0]?.chunks ?? []) as readonly object[];
    return stream && JSON.stringify(frames).includes('"finishReason":"STOP"')
      ? [[name.replace('.json', ''), frames]]
      : [];
  }),
];

/**
 * True with the client for Node. With that of other runtimes, recordings are truncated around and inside each line,
 * because both clients parse alike.
 */
const isEverywhere = process.env['GEMINI_SOCKETS'] !== 'web';

test.each(STREAMS)(
  'the stream %s, truncated anywhere, gives the whole reply or an error without calls',
  async (_name, frames) => {
    const bytes = new TextEncoder().encode(
      frames.map((frame) => `data: ${JSON.stringify(frame, shortened)}\r\n\r\n`).join(''),
    );
    const whole = (await play(bytes, 'ends')).whole;
    expect(whole?.finishReason).toBe('STOP');
    const calls = callsIn(whole);
    for (const end of ['ends', 'breaks'] as const) {
      const isAnywhere = end === 'ends' && (isEverywhere || frames === OWN_STREAM);
      for (const length of isAnywhere ? bytes.keys() : lengthsAroundLines(bytes)) {
        const cut = await play(bytes.subarray(0, length), end);
        const place = `${end} after ${length} of ${bytes.length} bytes`;
        if (cut.error) expect(cut.error, place).toBeInstanceOf(ModelError);
        else if (cut.whole?.errorCode !== undefined) expect(callsIn(cut.whole), place).toEqual([]);
        else expect([callsIn(cut.whole), cut.whole?.finishReason], place).toEqual([calls, 'STOP']);
        // A call that was shown is one that the model made, whole.
        for (const [at, call] of cut.chunks.flatMap(callsIn).entries()) expect(call, place).toEqual(calls[at]);
      }
    }
  },
  120_000,
);

/** Lengths of the beginnings of a stream: at, before and after the end of each line, and inside the line. */
function lengthsAroundLines(bytes: Uint8Array): readonly number[] {
  const lengths = new Set([0]);
  let start = 0;
  for (const [at, byte] of bytes.entries()) {
    if (byte !== 10) continue;
    for (const length of [Math.floor((start + at) / 2), at - 1, at, at + 1]) lengths.add(length);
    start = at + 1;
  }
  return [...lengths].filter((length) => length < bytes.length);
}

/** Shortens long texts and signatures, because truncation is the same anywhere inside them. */
function shortened(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.slice(0, 16) : value;
}

/** The next answer of the service. */
let answer = new Response();
const model = new Gemini({
  model: 'gemini-2.5-flash',
  apiKey: 'a-test-key',
  retry: { attempts: 1 },
  httpOptions: { fetch: () => Promise.resolve(answer) },
});

/** Plays a stream with these bytes, which then ends, or whose connection breaks. */
async function play(bytes: Uint8Array<ArrayBuffer>, end: 'ends' | 'breaks') {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
      if (end === 'ends') controller.close();
    },
    pull(controller) {
      controller.error(new TypeError('terminated'));
    },
  });
  answer = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  const request = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] };
  const chunks: LlmResponse[] = [];
  let whole: LlmResponse | undefined;
  try {
    for await (const response of model.generateContentAsync(request, true)) {
      if (response.partial) chunks.push(response);
      else whole = response;
    }
  } catch (error) {
    return { chunks, whole, error };
  }
  return { chunks, whole, error: undefined };
}

function callsIn(response: LlmResponse | undefined): FunctionCall[] {
  return response?.content?.parts?.flatMap(({ functionCall }) => functionCall ?? []) ?? [];
}
