import { existsSync, readdirSync, readFileSync } from 'node:fs';
import {
  createLlmRequest,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Gemini } from '@eventloom/gemini';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import type { GeminiRecording } from '@eventloom/testing/fake-gemini';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';

function reply(parts: readonly object[], finishReason?: string): object {
  return { candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }) }] };
}

/** A reply with a text, a whole call, and a call whose arguments arrive in pieces. */
const TWO_CALLS = [
  reply([{ text: 'Two calls.' }]),
  reply([{ functionCall: { name: 'look', args: { at: 'the ☀️' } } }]),
  reply([{ functionCall: { name: 'pay', willContinue: true } }]),
  reply([{ functionCall: { partialArgs: [{ jsonPath: '$.to', stringValue: 'Ann' }], willContinue: true } }]),
  reply([{ functionCall: {} }]),
  reply([{ text: '' }], 'STOP'),
];
/** A reply with nothing but a call whose arguments arrive in pieces. */
const PIECES = [...TWO_CALLS.slice(2, 5), reply([], 'STOP')];
const DONE = encode([reply([{ text: 'Done.' }], 'STOP')]);

/** Recordings of the real service. They are not part of this repository and may lie next to the checkout. */
const FOLDER = new URL('../../../../shared/fixtures/gemini/http/', import.meta.url);

/** The streamed replies with calls, by name. */
const REPLIES: readonly (readonly [string, readonly object[]])[] = [
  ['two calls', TWO_CALLS],
  ['pieces of a call', PIECES],
  ...(existsSync(FOLDER) ? readdirSync(FOLDER) : []).flatMap((name): (readonly [string, readonly object[]])[] => {
    const { stream, interactions } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as GeminiRecording;
    const frames = (interactions[0]?.chunks ?? []) as readonly object[];
    const text = JSON.stringify(frames);
    const isWhole = stream && text.includes('"functionCall"') && text.includes('"finishReason":"STOP"');
    // A call with its response in the reply was run by the service.
    return isWhole && !text.includes('"functionResponse"') ? [[name.replace('.json', ''), frames]] : [];
  }),
];

test.each(REPLIES)(
  '%s: a run whose reply is truncated after any byte runs all calls or none, and the next turn reports the lost calls',
  async (_name, frames) => {
    const bytes = encode(frames);
    const names = new Set<string>();
    JSON.stringify(frames, (key, value: unknown) => {
      const isNamed = key === 'functionCall' && typeof value === 'object' && value !== null && 'name' in value;
      if (isNamed) names.add(String(value.name));
      return value;
    });
    const play = createPlayer([...names]);
    const whole = await play(bytes);
    const made = whole.ran;
    expect(made.length).toBeGreaterThan(0);
    expect(whole.said.at(-1)).toBe('Done.');
    const heardCallAt = endOfFirstCall(frames);
    // The results that were checked, with the number of lost replies that they are to have.
    const checked = new Map<object, number>();
    for (let length = 0; length < bytes.length; length++) {
      const result = await play(bytes.subarray(0, length));
      const expectedLost = length >= heardCallAt ? 1 : 0;
      if (checked.get(result) === expectedLost) continue;
      checked.set(result, expectedLost);
      const { ran, events, said, nextRequest, failure } = result;
      const place = `after ${length} of ${bytes.length} bytes`;
      expect([[], made], place).toContainEqual(ran);
      // Each stored call has its response.
      const calls = events.flatMap((event) => getFunctionCalls(event).map(({ id }) => id));
      const responses = events.flatMap((event) => getFunctionResponses(event).map(({ id }) => id));
      expect(new Set(responses), place).toEqual(new Set(calls));
      if (ran.length > 0) {
        expect([failure, said.at(-1)], place).toEqual([undefined, 'Done.']);
        continue;
      }
      // The client gets an error code, and the next request tells the model that its calls were not run.
      expect(failure ?? events.find(({ errorCode }) => errorCode)?.errorCode, place).toBeDefined();
      const notice = 'none of its calls was run';
      const lost = events.filter(({ errorMessage = '' }) => errorMessage.endsWith(notice));
      expect(lost.length, place).toBe(expectedLost);
      expect(nextRequest.includes(notice), place).toBe(lost.length > 0);
    }
  },
  300_000,
);

/** Returns the number of bytes up to the end of the first frame with a call. */
function endOfFirstCall(frames: readonly object[]): number {
  const index = frames.findIndex((frame) => JSON.stringify(frame).includes('"functionCall"'));
  return encode(frames.slice(0, index + 1)).length;
}

/** Shortens long texts and signatures, because truncation is the same anywhere inside them. */
function shortened(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.slice(0, 40) : value;
}

function encode(frames: readonly object[]): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(frames.map((frame) => `data: ${JSON.stringify(frame, shortened)}\r\n\r\n`).join(''));
}

/**
 * Returns a function that runs an agent in a new session: its model answers with the given bytes, and then with
 * `Done.`. If no tool was run, one more message is sent. Bytes from which the model reads the same responses as before
 * have the same result, and are not run again.
 */
function createPlayer(names: readonly string[]) {
  let bytes = new Uint8Array();
  let requests: unknown[] = [];
  let ran: Pick<FunctionCall, 'name' | 'args'>[] = [];
  let sessions = 0;
  const fetch = (_url: unknown, { body }: RequestInit = {}): Promise<Response> => {
    const answer = requests.push(body) === 1 ? bytes : DONE;
    return Promise.resolve(new Response(answer, { headers: { 'content-type': 'text/event-stream' } }));
  };
  const tool = (name: string): FunctionTool =>
    new FunctionTool({
      name,
      description: 'Does something.',
      execute: (args) => void ran.push({ name, args: args as Record<string, unknown> }),
    });
  const model = new Gemini({
    model: 'gemini-2.5-flash',
    apiKey: 'a-test-key',
    retry: { attempts: 1 },
    httpOptions: { fetch },
  });
  const agent = new LlmAgent({ name: 'bot', model, tools: names.map(tool) });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });

  async function readResponses(): Promise<string> {
    const request = { ...createLlmRequest(), contents: [{ role: 'user', parts: [{ text: 'Do it.' }] }] };
    const responses: unknown[] = [];
    requests = [];
    try {
      for await (const response of model.generateContentAsync(request, true)) responses.push(response);
    } catch (error) {
      responses.push(String(error));
    }
    return JSON.stringify(responses);
  }

  async function run() {
    requests = [];
    ran = [];
    const session = { userId: 'u', sessionId: `s${sessions++}` };
    const say = (text: string): Promise<Event[]> =>
      runner.run({ ...session, newMessage: { role: 'user', parts: [{ text }] }, runConfig: { streamingMode: 'sse' } });
    let events: readonly Event[] = [];
    let failure: unknown;
    try {
      events = await say('Do it.');
    } catch (error) {
      failure = error;
    }
    const key = { appName: 'app', ...session };
    const stored = (await sessionService.getSession(key))?.events ?? [];
    if (ran.length === 0) await say('And now?');
    await sessionService.deleteSession(key);
    const said = events.flatMap(({ content, partial }) =>
      partial === true ? [] : (content?.parts ?? []).flatMap(({ text }) => (text ? [text] : [])),
    );
    return { ran, events: stored, said, nextRequest: String(requests.at(-1)), failure };
  }

  const results = new Map<string, ReturnType<typeof run>>();
  return async (cut: Uint8Array<ArrayBuffer>): ReturnType<typeof run> => {
    bytes = cut;
    const responses = await readResponses();
    const result = results.get(responses) ?? run();
    results.set(responses, result);
    return result;
  };
}
