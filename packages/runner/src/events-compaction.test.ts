import {
  BaseEventsSummarizer,
  ConfigurationError,
  type Content,
  createCompactionEvent,
  type Event,
  type EventsCompactionConfig,
  isRunnerCompletion,
  type SummarizeEventsRequest,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, type ScriptedStep, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };

/** Sums up by naming the texts. */
class NamingSummarizer extends BaseEventsSummarizer {
  readonly asked: (readonly Event[])[] = [];

  override async maybeSummarizeEvents({ events }: SummarizeEventsRequest): Promise<Event | undefined> {
    this.asked.push(events);
    const text = events.map(({ content }) => textOf(content)).join(' ');
    return createCompactionEvent({ role: 'model', parts: [{ text: `(${text})` }] });
  }

  get texts(): string[] {
    return this.asked.map((events) => events.map(({ content }) => textOf(content)).join(' '));
  }
}

function textOf(content: Content | undefined): string {
  const told = content?.parts?.map(
    ({ text, functionCall, functionResponse }) =>
      text ?? (functionCall ? `call:${functionCall.id}` : `response:${functionResponse?.id}`),
  );
  return told?.join('+') ?? '';
}

type Options = Partial<EventsCompactionConfig> & { readonly steps?: readonly ScriptedStep[] };

/** A runner whose model answers "a1", "a2", …; `turns` says something in each of so many runs. */
async function setUp({ steps, ...config }: Options = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const script = steps ?? Array.from({ length: 100 }, (_, index) => `a${index + 1}`);
  const model = new ScriptedModel(script);
  const summarizer = new NamingSummarizer();
  const eventsCompaction = { summarizer, ...config };
  const later = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: true }) });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: 'Waits.', execute: () => undefined });
  const agent = new LlmAgent({ name: 'bot', model, tools: [later, wait] });
  const make = () => new Runner({ appName: 'app', agent, sessionService, platform, eventsCompaction });
  const runner = make();
  let said = 0;
  const say = async (text: string, on: Runner = runner): Promise<Event[]> => {
    platform.advance(1000);
    return on.run({ ...IDS, newMessage: { parts: [{ text }] } });
  };
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn++) await say(`u${++said}`);
  };
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  const compactions = async () => (await stored()).filter(({ actions }) => actions.compaction);
  const sent = () => model.requests.at(-1)?.request.contents.map(textOf);
  return { runner, make, say, turns, stored, compactions, sent, summarizer, model, sessionService, platform };
}

test('a window is summed up when its invocations are over, and the model is sent the summary', async () => {
  const { turns, sent, compactions, summarizer } = await setUp({ compactionInterval: 2 });
  await turns(1);
  expect(await compactions()).toEqual([]);
  await turns(1);
  expect(summarizer.texts).toEqual(['u1 a1 u2 a2']);
  await turns(1);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', 'u3']);
  await turns(2);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', '(u3 a3 u4 a4)', 'u5']);
});

test('a window can begin with invocations that were summed up already', async () => {
  const { turns, sent, summarizer } = await setUp({ compactionInterval: 2, overlapSize: 1 });
  await turns(5);
  expect(summarizer.texts).toEqual(['u1 a1 u2 a2', 'u2 a2 u3 a3 u4 a4']);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', '(u2 a2 u3 a3 u4 a4)', 'u5']);
});

test('a window that begins with all of another is told its summary only when there is more in that', async () => {
  const { turns, sent, summarizer } = await setUp({ compactionInterval: 1, overlapSize: 1 });
  await turns(4);
  expect(summarizer.texts).toEqual(['u1 a1', 'u1 a1 u2 a2', 'u2 a2 u3 a3', 'u3 a3 u4 a4']);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', '(u2 a2 u3 a3)', 'u4']);
});

const counted = (text: string, promptTokenCount: number): ScriptedStep => ({
  text,
  response: { usageMetadata: { promptTokenCount } },
});

test('a prompt of too many tokens is summed up but for the newest events, and one summary stands for all', async () => {
  const steps = [counted('a1', 10), counted('a2', 99), counted('a3', 100), counted('a4', 50), counted('a5', 100), 'a6'];
  const { turns, sent, summarizer, compactions } = await setUp({ tokenThreshold: 100, eventRetentionSize: 2, steps });
  await turns(2);
  expect(summarizer.asked).toEqual([]);
  await turns(1);
  expect(summarizer.texts).toEqual(['u1 a1 u2 a2']);
  await turns(2);
  expect(sent()).toEqual(['(u1 a1 u2 a2)', 'u3', 'a3', 'u4', 'a4', 'u5']);
  expect(summarizer.texts[1]).toBe('(u1 a1 u2 a2) u3 a3 u4 a4');
  expect(summarizer.asked[1]?.[0]?.author).toBe('model');
  await turns(1);
  expect(sent()).toEqual(['((u1 a1 u2 a2) u3 a3 u4 a4)', 'u5', 'a5', 'u6']);
  const ranges = (await compactions()).map(({ actions }) => actions.compaction?.startTimestamp);
  expect(new Set(ranges).size).toBe(1);
});

test('what a model counted before a summary was made is no reason for the next one, nor what the summary cost', async () => {
  const steps = [counted('a1', 500), 'a2', 'a3'];
  const { turns, summarizer, sessionService } = await setUp({ tokenThreshold: 100, eventRetentionSize: 0, steps });
  summarizer.maybeSummarizeEvents = async () =>
    createCompactionEvent({ parts: [{ text: 'short' }] }, { usageMetadata: { promptTokenCount: 900 } });
  await turns(3);
  const events = (await sessionService.getSession(KEY))?.events ?? [];
  expect(events.filter(({ actions }) => actions.compaction)).toHaveLength(1);
});

test('where models tell no tokens, four characters are one', async () => {
  const steps = ['x'.repeat(190), 'x'.repeat(202), 'a3'];
  const { turns, summarizer } = await setUp({ tokenThreshold: 99, eventRetentionSize: 0, steps });
  await turns(1);
  expect(summarizer.asked).toHaveLength(0);
  await turns(1);
  expect(summarizer.asked).toHaveLength(1);
});

test('summaries of windows become one when they are too many tokens themselves', async () => {
  const { turns, sent } = await setUp({ compactionInterval: 1, tokenThreshold: 1, eventRetentionSize: 50 });
  await turns(4);
  expect(sent()).toEqual(['((u1 a1) (u2 a2))', 'u3', 'a3', 'u4']);
});

test('what is left after a summary is kept in memory and not read again', async () => {
  const { turns, sent, sessionService } = await setUp({ compactionInterval: 3 });
  const getSession = sessionService.getSession.bind(sessionService);
  let read = 0;
  sessionService.getSession = async (request) => {
    const session = await getSession(request);
    read += session?.events.length ?? 0;
    return session;
  };
  await turns(3);
  expect(read).toBe(2);
  await turns(1);
  expect(read).toBe(2);
  expect(sent()).toEqual(['(u1 a1 u2 a2 u3 a3)', 'u4']);
});

test('many turns are sent as few contents', async () => {
  const steps = Array.from({ length: 60 }, (_, index) => `a${index}`);
  const { turns, model, sessionService } = await setUp({
    compactionInterval: 3,
    tokenThreshold: 8,
    eventRetentionSize: 4,
    steps,
  });
  await turns(60);
  expect(Math.max(...model.requests.map(({ request }) => request.contents.length))).toBeLessThan(12);
  const read = await sessionService.getSession({ ...KEY, config: { sinceCompaction: true, afterSeq: 100 } });
  expect(read?.events.filter(({ actions }) => !actions.compaction).length).toBeLessThan(12);
});

test("the event is the last of the session, the user's, of its own invocation, and is not yielded", async () => {
  const { runner, say, stored, summarizer } = await setUp({ compactionInterval: 1 });
  summarizer.maybeSummarizeEvents = async () =>
    createCompactionEvent({ parts: [{ text: 'sum' }] }, { usageMetadata: { promptTokenCount: 7 }, author: 'other' });
  const yielded = await say('hello', runner);
  expect(yielded.some(({ actions }) => actions.compaction)).toBe(false);
  const events = await stored();
  expect(events.at(-1)).toMatchObject({
    author: 'user',
    usageMetadata: { promptTokenCount: 7 },
    actions: {
      compaction: {
        startTimestamp: events[0]?.timestamp,
        endTimestamp: events[1]?.timestamp,
        compactedContent: { parts: [{ text: 'sum' }] },
      },
    },
  });
  expect(events.filter(({ invocationId }) => invocationId === events.at(-1)?.invocationId)).toHaveLength(1);
});

test('the session is compacted under the lease, before the run says that it is over', async () => {
  const { runner, summarizer, sessionService } = await setUp({ compactionInterval: 1 });
  const seen: string[] = [];
  summarizer.maybeSummarizeEvents = async () => {
    const busy = sessionService.acquireLease({ ...KEY, ttlMs: 1000, onBusy: 'reject', waitMs: 0 });
    seen.push(
      await busy.then(
        () => 'free',
        (error: Error) => error.name,
      ),
    );
    return undefined;
  };
  const run = runner.runAsync({
    ...IDS,
    newMessage: { parts: [{ text: 'hi' }] },
    runConfig: { completionEvent: true },
  });
  for await (const event of run) seen.push(isRunnerCompletion(event) ? 'completion' : 'event');
  expect(seen).toEqual(['event', 'SessionBusyError', 'completion']);
});

test('a summary that fails leaves the session and the run as they are, and is reported', async () => {
  const { turns, say, summarizer, compactions, platform, sent } = await setUp({ compactionInterval: 2 });
  const summarize = summarizer.maybeSummarizeEvents.bind(summarizer);
  summarizer.maybeSummarizeEvents = async () => {
    throw new Error('no words');
  };
  await turns(2);
  expect(await compactions()).toEqual([]);
  await expect(platform.drain()).rejects.toThrow('no words');
  summarizer.maybeSummarizeEvents = summarize;
  await turns(1);
  await say('last');
  expect(sent()).toEqual(['(u1 a1 u2 a2 u3 a3)', 'last']);
});

test('a summarizer that returns no summary is reported', async () => {
  const { turns, summarizer, platform, compactions } = await setUp({ compactionInterval: 1 });
  summarizer.maybeSummarizeEvents = async ({ events }) => events[0];
  await turns(1);
  expect(await compactions()).toEqual([]);
  await expect(platform.drain()).rejects.toThrow(ConfigurationError);
});

test('an abort ends the wait for a summary, and the run as what it is', async () => {
  const { runner, summarizer, compactions } = await setUp({ compactionInterval: 1 });
  const abort = new AbortController();
  const gate = new Gate();
  summarizer.maybeSummarizeEvents = async ({ abortSignal }) => {
    abort.abort();
    expect(abortSignal.aborted).toBe(true);
    await gate.pass();
    return createCompactionEvent({ parts: [{ text: 'too late' }] });
  };
  const newMessage = { parts: [{ text: 'hi' }] };
  expect(await runner.run({ ...IDS, newMessage, abortSignal: abort.signal })).toHaveLength(1);
  gate.open();
  expect(await compactions()).toEqual([]);
});

test('a run that fails, or that chose its own window, compacts nothing', async () => {
  const steps = ['a1', 'a2', new Error('broken'), 'a4'];
  const { turns, runner, summarizer } = await setUp({ compactionInterval: 2, steps });
  await turns(1);
  const newMessage = { parts: [{ text: 'few' }] };
  await runner.run({ ...IDS, newMessage, runConfig: { getSessionConfig: { numRecentEvents: 1 } } });
  expect(summarizer.asked).toEqual([]);
  await expect(turns(1)).rejects.toThrow('broken');
  expect(summarizer.asked).toEqual([]);
  await turns(1);
  expect(summarizer.asked).toHaveLength(1);
});

const calls = (name: string, id: string): ScriptedStep => ({ calls: [{ id, name, args: {} }] });

test('a call that waits for its answer stays, with all that came since, until it is answered', async () => {
  const steps = ['a1', calls('wait', 'w'), 'a3', 'a4', 'a5'];
  const { turns, runner, sent, summarizer } = await setUp({ compactionInterval: 1, steps });
  await turns(3);
  expect(summarizer.texts).toEqual(['u1 a1']);
  const functionResponse = { id: 'w', name: 'wait', response: { ok: true } };
  await runner.run({ ...IDS, newMessage: { parts: [{ functionResponse }] } });
  expect(sent()).toEqual(['(u1 a1)', 'u2', 'call:w', 'response:w', 'u3', 'a3']);
  expect(summarizer.texts[1]).toBe('u2 call:w u3 a3 response:w a4');
  await turns(1);
  expect(sent()).toEqual(['(u1 a1)', '(u2 call:w u3 a3 response:w a4)', 'u4']);
});

test('a call is kept with its response when events are kept', async () => {
  const steps = [calls('look', 'c'), counted('a1', 100), counted('a2', 100)];
  const { turns, summarizer } = await setUp({ tokenThreshold: 50, eventRetentionSize: 1, steps });
  await turns(1);
  expect(summarizer.asked).toEqual([]);
  await turns(1);
  expect(summarizer.texts).toEqual(['u1 call:c response:c a1']);
});

test('a further answer to a call that was summed up is told', async () => {
  const steps = [calls('wait', 'w'), 'a1', 'a2'];
  const { turns, runner, sent } = await setUp({ compactionInterval: 1, steps });
  const answer = async (done: number) => {
    const functionResponse = { id: 'w', name: 'wait', response: { done } };
    await runner.run({ ...IDS, newMessage: { parts: [{ functionResponse }] } });
  };
  await turns(1);
  await answer(50);
  await answer(100);
  expect(sent()?.at(-1)).toBe('For context: `wait` tool returned result: {"done":100}');
});

test('a rewind to after what a summary stands for undoes the summary', async () => {
  const { turns, runner, make, say, sent, stored } = await setUp({ compactionInterval: 3, overlapSize: 1 });
  await turns(3);
  const rewindBeforeInvocationId = (await stored()).find(({ content }) => textOf(content) === 'u2')?.invocationId ?? '';
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId });
  await say('again', make());
  expect(sent()).toEqual(['u1', 'a1', 'again']);
  await turns(1);
  await say('more', make());
  expect(sent()).toEqual(['(u1 a1 again a4 u4 a5)', 'more']);
});

test('events that a slow clock dates into the past are not taken for summed up', async () => {
  const { turns, sessionService, make, sent, model } = await setUp({ compactionInterval: 2 });
  await turns(2);
  const slow = new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model }),
    sessionService,
    platform: fixedPlatform({ now: Date.UTC(2020, 0, 1) }),
  });
  await slow.run({ ...IDS, newMessage: { parts: [{ text: 'slow' }] } });
  await make().run({ ...IDS, newMessage: { parts: [{ text: 'now' }] } });
  expect(sent()).toEqual(['(u1 a1 u2 a2)', 'slow', 'a3', 'now']);
});

test('the agent that spoke last goes on when all it said was summed up', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const transfer = { calls: [{ id: 't', name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
  const agent = new LlmAgent({
    name: 'root',
    model: new ScriptedModel([transfer]),
    subAgents: [new LlmAgent({ name: 'helper', model: new ScriptedModel(['h1', 'h2']) })],
  });
  const eventsCompaction = { summarizer: new NamingSummarizer(), compactionInterval: 1 };
  const run = async () => {
    platform.advance(1000);
    const runner = new Runner({ appName: 'app', agent, sessionService, platform, eventsCompaction });
    return runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  };
  await run();
  expect((await run()).map(({ author }) => author)).toEqual(['helper']);
});

test.each([
  [{}, /say when/],
  [{ tokenThreshold: 5 }, /go together/],
  [{ compactionInterval: 1, eventRetentionSize: 5 }, /go together/],
  [{ tokenThreshold: 5, eventRetentionSize: 5, overlapSize: 1 }, /overlapSize/],
  [{ compactionInterval: 0 }, /compactionInterval/],
  [{ compactionInterval: 1, overlapSize: -1 }, /overlapSize/],
  [{ compactionInterval: 1, overlap: 1 }, /overlap is not supported/],
  [{ compactionInterval: 1, summarizer: {} }, /summarizer/],
])('what cannot work is refused: %j', async (config, message) => {
  await expect(setUp(config as Options)).rejects.toThrow(message);
});
