import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type Event, getFunctionCalls, getFunctionResponses } from '@eventloom/core';
import {
  type FakeLiveStep,
  FakeGeminiServer,
  type LiveRecording,
  type LiveWireMessage,
} from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { FunctionTool, InMemoryRunner, LiveRequestQueue, LlmAgent } from './index.ts';

/** Recordings of the real service. They are not part of this repository and may lie next to the checkout. */
const FOLDER = new URL('../../../../shared/fixtures/gemini/live/', import.meta.url);

const OWN: readonly LiveWireMessage[] = [
  { serverContent: { outputTranscription: { text: 'One ' } } },
  {
    toolCall: {
      functionCalls: [
        { id: 'c-1', name: 'look', args: {} },
        { id: 'c-2', name: 'pay', args: { to: 'Ann' } },
      ],
    },
  },
  { serverContent: { outputTranscription: { text: 'moment.' } } },
  { toolCall: { functionCalls: [{ id: 'c-3', name: 'look', args: {} }] } },
  { serverContent: { turnComplete: true } },
];

/** The messages of the service by the name of their recording. */
const RECORDINGS: readonly (readonly [string, readonly LiveWireMessage[]])[] = [
  ['three calls', OWN],
  ...(existsSync(FOLDER) ? readdirSync(FOLDER) : []).map((name): [string, readonly LiveWireMessage[]] => {
    const { frames } = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as LiveRecording;
    // The first two are the setup and its answer. A further message of a long recording is audio again.
    const said = frames.slice(2).filter(({ dir }) => dir === 'server');
    return [name.replace('.json', ''), said.slice(0, 12).map(({ msg }) => msg)];
  }),
];

test.each(RECORDINGS)(
  'a live run whose connection ends after any message of %s reports it, runs each call once, and answers each call',
  async (_name, messages) => {
    for (const end of [{ close: 1000 }, { close: 1011 }, { cut: true }] as const) {
      for (let length = 0; length <= messages.length; length++) {
        const heard = messages.slice(0, length);
        const isCalling = callsIn(heard).length > 0;
        for (const work of isCalling ? (['quick', 'endless'] as const) : (['quick'] as const)) {
          const { events, failure, stored, ran } = await play([...heard, end], callsIn(messages), work);
          const place = `${JSON.stringify(end)} after ${length} messages, ${work} tools`;
          expect(failure ?? events.find(({ errorCode }) => errorCode)?.errorCode, place).toBeDefined();
          expect(ran, place).toEqual(callsIn(heard));
          const calls = stored.flatMap((event) => getFunctionCalls(event));
          expect(
            calls.map(({ name }) => name),
            place,
          ).toEqual(callsIn(heard));
          const responses = stored.flatMap((event) => getFunctionResponses(event));
          expect(responses.map(({ id = '' }) => id).toSorted(), place).toEqual(
            calls.map(({ id = '' }) => id).toSorted(),
          );
          const kinds = responses.map(({ response }) => Object.keys(response ?? {})[0]);
          expect(new Set(kinds), place).toEqual(new Set(isCalling ? [work === 'quick' ? 'ok' : 'error'] : []));
        }
      }
    }
  },
);

/** Returns the names of the tools that the messages call, once for each call. */
function callsIn(messages: readonly LiveWireMessage[]): string[] {
  return messages
    .flatMap(({ toolCall }) => (toolCall as { functionCalls: { name: string }[] } | undefined)?.functionCalls ?? [])
    .map(({ name }) => name);
}

/** Plays a connection that is not replaced after its end. Tools return at once, or work until they are aborted. */
async function play(steps: readonly FakeLiveStep[], names: readonly string[], work: 'quick' | 'endless') {
  await using server = await FakeGeminiServer.start();
  server.live.enqueue([{ heard: /./ }, ...steps]);
  const ran: string[] = [];
  const toTool = (name: string): FunctionTool =>
    new FunctionTool({
      name,
      description: 'Does something.',
      async execute(_args, { abortSignal }) {
        ran.push(name);
        if (work === 'endless') await new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
        return { ok: true };
      },
    });
  const tools = [...new Set(names)].map(toTool);
  const agent = new LlmAgent({ name: 'bot', model: 'gemini-3.1-flash-live-preview', tools });
  const gemini = { apiKey: 'a-test-key', baseUrl: server.url };
  const runner = new InMemoryRunner({ agent, gemini, autoCreateSession: true });
  const liveRequestQueue = new LiveRequestQueue();
  liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hi' }] });
  const key = { userId: 'u', sessionId: 's' };
  const events: Event[] = [];
  let failure: unknown;
  try {
    for await (const event of runner.runLive({ ...key, liveRequestQueue, runConfig: { liveReconnect: false } }))
      events.push(event);
  } catch (error) {
    failure = error;
  }
  const session = await runner.sessionService.getSession({ appName: runner.appName, ...key });
  return { events, failure, stored: session?.events ?? [], ran };
}
