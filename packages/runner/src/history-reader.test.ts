import {
  BaseAgent,
  BaseEventsSummarizer,
  createCompactionEvent,
  createEvent,
  effectiveEvents,
  type Event,
  type EventsCompactionConfig,
  type GetSessionRequest,
  type InvocationContext,
  type ListEventsRequest,
  type ListEventsResponse,
  type Session,
  type SessionRecord,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };

/** Counts the events that come out of storage for runs. */
class CountingService extends InMemorySessionService {
  read = 0;

  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const session = await super.getSession(request);
    this.read += session?.events.length ?? 0;
    return session;
  }

  override async listEvents(request: ListEventsRequest): Promise<ListEventsResponse> {
    const page = await super.listEvents(request);
    this.read += page.events.length;
    return page;
  }
}

/** Answers, and shows what it saw. */
class Answering extends BaseAgent {
  seen: readonly Event[] = [];

  protected override async *runAsyncImpl({ session }: InvocationContext): AsyncGenerator<Event, void, void> {
    this.seen = [...session.events];
    yield modelEvent('bot', 'yes');
  }
}

class Summarizer extends BaseEventsSummarizer {
  override async maybeSummarizeEvents(): Promise<Event | undefined> {
    return createCompactionEvent({ role: 'model', parts: [{ text: 'summary' }] });
  }
}

/** One summary for all but the newest four events, whenever these are about five turns. */
const WHOLE = { tokenThreshold: 8, eventRetentionSize: 4 };

async function setUp(config: Omit<EventsCompactionConfig, 'summarizer'> | null = WHOLE) {
  const platform = fixedPlatform();
  const sessionService = new CountingService({ platform });
  await sessionService.createSession(KEY);
  const agent = new Answering({ name: 'bot' });
  const eventsCompaction = config ? ({ summarizer: new Summarizer(), ...config } as EventsCompactionConfig) : undefined;
  const make = () => new Runner({ appName: 'app', agent, sessionService, platform, eventsCompaction });
  const warm = make();
  const say = async (runner: Runner): Promise<string> => {
    platform.advance(1000);
    const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'go' }] } });
    for await (const _ of stream);
    return stream.invocationId;
  };
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return {
    platform,
    sessionService,
    agent,
    warm,
    stored,
    /** Runs turns in one process; gives their invocation ids. */
    turns: async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      while (ids.length < count) ids.push(await say(warm));
      return ids;
    },
    /** Runs a turn in a process that knows nothing, and gives how many events it read. What the agent saw has to be what counts. */
    cold: async (): Promise<number> => {
      const before = await stored();
      sessionService.read = 0;
      await say(make());
      const { read } = sessionService;
      const [message, ...rest] = (await stored()).slice(before.length);
      expect(rest[0]?.author).toBe('bot');
      expect(effectiveEvents(agent.seen)).toEqual(effectiveEvents([...before, message as Event]));
      return read;
    },
    append: async (event: Event): Promise<Event> => {
      const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
      return sessionService.appendEvent({ session, event });
    },
  };
}

test('a cold turn of a compacted session reads as much after 20 turns as after 3,000', async () => {
  const short = await setUp();
  await short.turns(60);
  const long = await setUp();
  await long.turns(3000);
  expect((await long.stored()).length).toBeGreaterThan(6000);
  const [few, many] = [await short.cold(), await long.cold()];
  expect(many).toBeLessThanOrEqual(few);
  expect(many).toBeLessThanOrEqual(100);
});

test.each([[5], [1500], [2990]])(
  'a cold turn reads as much after a rewind to before compactions, to turn %i of 3,000',
  async (target) => {
    const { turns, warm, cold, sessionService } = await setUp();
    const ids = await turns(3000);
    await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[target] ?? '' });
    for (let turn = 0; turn < 12; turn++) expect(await cold()).toBeLessThanOrEqual(200);
    // A process that knows the session reads what is new, and leaps like the cold one.
    sessionService.read = 0;
    await turns(1);
    expect(sessionService.read).toBeLessThanOrEqual(200);
  },
);

test('rewinds of rewinds are leapt over, one after the other', async () => {
  const { turns, warm, cold } = await setUp();
  const ids = await turns(500);
  for (const target of [400, 300, 50]) {
    await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[target] ?? '' });
    await turns(90);
  }
  const rewinds = await turns(1);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: rewinds[0] ?? '' });
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[20] ?? '' });
  expect(await cold()).toBeLessThanOrEqual(200);
});

test('a session is read whole when nothing was compacted, each event once', async () => {
  const { turns, cold, stored } = await setUp(null);
  await turns(400);
  const { length } = await stored();
  expect(await cold()).toBe(length);
});

test('windows leave a bounded number of summaries, and a cold turn reads these and no others', async () => {
  const { turns, cold, stored } = await setUp({ compactionInterval: 2 });
  await turns(400);
  const summaries = effectiveEvents(await stored()).filter((told) => 'summary' in told);
  expect(summaries.length).toBeGreaterThan(1);
  expect(summaries.length).toBeLessThanOrEqual(32);
  expect(await cold()).toBeLessThanOrEqual(232);
});

test('what was appended after a compaction is seen, also when it is dated before its end', async () => {
  const { turns, cold, append, agent } = await setUp();
  await turns(63);
  await append(userEvent('from elsewhere', { id: 'late', timestamp: 1 }));
  await cold();
  expect(agent.seen.map(({ id }) => id)).toContain('late');
  expect(agent.seen.length).toBeLessThan(40);
});

test('a compaction or a rewind that says nothing of where to read on is read with all there is', async () => {
  const { turns, cold, append, stored } = await setUp(null);
  await turns(150);
  const events = await stored();
  const compactedContent = { role: 'model', parts: [{ text: 'from elsewhere' }] };
  const compaction = {
    startTimestamp: events[0]?.timestamp ?? 0,
    endTimestamp: events[99]?.timestamp ?? 0,
    compactedContent,
  };
  await append(createEvent({ author: 'user', timestamp: events.at(-1)?.timestamp ?? 0, actions: { compaction } }));
  expect(await cold()).toBeGreaterThan(300);
  const rewindBeforeInvocationId = events[50]?.invocationId ?? '';
  await append(createEvent({ author: 'user', actions: { rewindBeforeInvocationId } }));
  expect(await cold()).toBeGreaterThan(300);
});

test.each([
  ['of another place', (event: Event) => ({ ...event.actions.history, seq: 7 })],
  ['behind itself', (event: Event) => ({ ...event.actions.history, keptFrom: 1e9 })],
  ['to summaries that are not there', (event: Event) => ({ ...event.actions.history, summaries: ['none'] })],
])('a pointer %s is not followed', async (_, wrong) => {
  const { turns, sessionService, cold } = await setUp();
  await turns(200);
  const records: SessionRecord[] = [];
  for await (const record of sessionService.exportSession(KEY)) {
    if (record.type !== 'event' || !record.event.actions.history) records.push(record);
    else {
      const actions = { ...record.event.actions, history: wrong(record.event) };
      records.push({ type: 'event', event: { ...record.event, actions } as Event });
    }
  }
  await sessionService.deleteSession(KEY);
  await sessionService.importSession({ records });
  expect(await cold()).toBeGreaterThan(400);
});
