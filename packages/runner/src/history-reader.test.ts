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

/** A compaction of another program. */
function foreign(startTimestamp: number, endTimestamp: number, timestamp = endTimestamp): Event {
  const compactedContent = { role: 'model', parts: [{ text: `to ${endTimestamp}` }] };
  const compaction = { startTimestamp, endTimestamp, compactedContent };
  return createEvent({ author: 'user', timestamp, actions: { compaction } });
}

/** A session whose turns but the newest four events are summed up by another program. */
async function setUpForeign(count: number) {
  const made = await setUp(null);
  const ids = await made.turns(count);
  const events = await made.stored();
  const timeOf = (index: number): number => events.at(index)?.timestamp ?? expect.unreachable();
  await made.append(foreign(timeOf(0), timeOf(-5), timeOf(-1)));
  return { ...made, ids, timeOf };
}

test('a cold turn behind a compaction of another program reads as much after 300 turns as after 3,000', async () => {
  const [short, long] = [await setUpForeign(300), await setUpForeign(3000)];
  const [few, many] = [await short.cold(), await long.cold()];
  expect(many).toBe(few);
  expect(many).toBeLessThanOrEqual(110);
});

test('what is dated before the end of a compaction of another program, and appended after it, is seen', async () => {
  const { append, cold, agent, timeOf } = await setUpForeign(300);
  await append(userEvent('from elsewhere', { id: 'late', timestamp: timeOf(20) }));
  expect(await cold()).toBeLessThanOrEqual(110);
  expect(agent.seen.map(({ id }) => id)).toContain('late');
});

test('what a compaction of another program leaves is read, however far back, and each event once', async () => {
  const { append, cold, agent, turns, stored } = await setUp(null);
  await turns(600);
  const events = await stored();
  await append(foreign(0, events[899]?.timestamp ?? 0, events.at(-1)?.timestamp));
  await cold();
  expect(new Set(agent.seen.map(({ id }) => id)).size).toBe(agent.seen.length);
  expect(agent.seen.length).toBeLessThan(400);
});

test('a rewind that leaves a compaction of another program leaps', async () => {
  const { append, cold, turns, warm, ids, stored, timeOf } = await setUpForeign(600);
  const later = await turns(200);
  const newest = (await stored()).at(-1)?.timestamp ?? 0;
  await append(foreign(timeOf(0), newest));
  await turns(80);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: later[5] ?? '' });
  expect(await cold()).toBeLessThanOrEqual(300);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[599] ?? '' });
  await cold();
});

test('the events between an undone compaction and the one before it are not lost', async () => {
  const { append, cold, turns, warm, stored, timeOf, agent } = await setUp(null).then(async (made) => {
    await made.turns(300);
    const events = await made.stored();
    return { ...made, timeOf: (index: number) => events.at(index)?.timestamp ?? 0 };
  });
  // It leaves 200 events, which the undone one covers.
  await append(foreign(timeOf(0), timeOf(399), timeOf(-1)));
  const [target = ''] = await turns(60);
  await append(foreign(timeOf(0), (await stored()).at(-1)?.timestamp ?? 0));
  await turns(60);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: target });
  await cold();
  expect(agent.seen.length).toBeGreaterThan(200);
});

test.each([
  ['does not begin with the session', (at: (turn: number) => number) => [foreign(at(50), at(250))]],
  ['does not cover an earlier one', (at: (turn: number) => number) => [foreign(0, at(280)), foreign(0, at(100))]],
  [
    'covers one window after the other',
    (at: (turn: number) => number) => [foreign(0, at(50)), foreign(at(60), at(280))],
  ],
])('what a compaction of another program leaves that %s is seen', async (_, make) => {
  const { append, cold, turns, stored } = await setUp(null);
  await turns(300);
  const events = await stored();
  for (const event of make((turn) => events[turn * 2]?.timestamp ?? 0)) await append(event);
  await turns(60);
  await cold();
});

test('a rewind before a compaction of another program undoes what that leaves', async () => {
  const { append, cold, turns, warm, stored } = await setUp(null);
  const ids = await turns(200);
  const events = await stored();
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[100] ?? '' });
  await turns(70);
  await append(foreign(0, events[250]?.timestamp ?? 0, (await stored()).at(-1)?.timestamp));
  await cold();
});

test('an earlier summary that a compaction of another program does not cover is seen', async () => {
  const { append, cold, turns, stored } = await setUp(null);
  await turns(20);
  const early = await stored();
  await append(foreign(0, early[9]?.timestamp ?? 0, early.at(-1)?.timestamp));
  await turns(200);
  await append(foreign(early[0]?.timestamp ?? 0, (await stored()).at(-1)?.timestamp ?? 0));
  await cold();
});

test('an earlier summary that was rewound is not seen, although a compaction of another program does not cover it', async () => {
  const { append, cold, turns, warm, stored } = await setUp(null);
  const ids = await turns(300);
  const events = await stored();
  await append(foreign(0, events[200]?.timestamp ?? 0, events.at(-1)?.timestamp));
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[200] ?? '' });
  await turns(5);
  await append(foreign(events[0]?.timestamp ?? 0, (await stored()).at(-1)?.timestamp ?? 0));
  await cold();
});

test('behind a compaction that does not say enough, and a rewind, an earlier one is enough', async () => {
  const { append, cold, turns, warm, stored, timeOf } = await setUpForeign(1000);
  await append(foreign(timeOf(0), timeOf(-1)));
  const later = await turns(100);
  const undone = (await stored()).find(({ invocationId }) => invocationId === later[60]);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: later[50] ?? '' });
  await append(foreign(timeOf(0), undone?.timestamp ?? 0, (await stored()).at(-1)?.timestamp));
  expect(await cold()).toBeLessThanOrEqual(900);
});

test('a compaction over events whose places are not known leaves later turns as short', async () => {
  const made = await setUp(null);
  await made.turns(600);
  const events = await made.stored();
  await made.append(foreign(0, events[899]?.timestamp ?? 0, events.at(-1)?.timestamp));
  const compacting = new Runner({
    appName: 'app',
    agent: made.agent,
    sessionService: made.sessionService,
    platform: made.platform,
    eventsCompaction: {
      summarizer: new Summarizer(),
      tokenThreshold: 8,
      eventRetentionSize: 250,
    } as EventsCompactionConfig,
  });
  for (let turn = 0; turn < 4; turn++) {
    made.platform.advance(1000);
    for await (const _ of compacting.runAsync({ ...IDS, newMessage: { parts: [{ text: 'go' }] } }));
  }
  const own = (await made.stored()).filter(({ actions }) => actions.compaction).slice(1);
  expect(own.length).toBeGreaterThan(1);
  expect(own.map(({ actions }) => actions.history)).toEqual(own.map(() => undefined));
  expect(await made.cold()).toBeLessThanOrEqual(500);
});

test.each(Array.from({ length: 12 }, (_, index) => index + 1))(
  'a cold turn sees what counts in any mix of compactions, rewinds and early-dated events (seed %i)',
  async (seed) => {
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const { append, cold, turns, warm, stored } = await setUp(
      seed % 3 === 0 ? null : { tokenThreshold: 40, eventRetentionSize: 4 },
    );
    const ids = await turns(40);
    for (let step = 0; step < 24; step++) {
      const events = await stored();
      const timeOf = (index: number): number => events[index]?.timestamp ?? 0;
      const kind = random(5);
      if (kind === 0) {
        await append(foreign(timeOf(0), timeOf(events.length - 1 - random(60)), timeOf(events.length - 1)));
      } else if (kind === 1) {
        const rewindBeforeInvocationId = ids[ids.length - 1 - random(12)] ?? '';
        await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId }).catch(() => undefined);
      } else if (kind === 2) {
        await append(userEvent('late', { timestamp: timeOf(random(events.length)) }));
      }
      ids.push(...(await turns(1 + random(30))));
      await cold();
    }
  },
);

test('a rewind that says nothing of where to read on is read with all there is', async () => {
  const { turns, cold, append, stored } = await setUp(null);
  await turns(150);
  const rewindBeforeInvocationId = (await stored())[50]?.invocationId ?? '';
  await append(createEvent({ author: 'user', actions: { rewindBeforeInvocationId } }));
  expect(await cold()).toBeGreaterThan(300);
});

test.each([
  [
    'of another place',
    (event: Event) => {
      // Nothing would be left but the summary.
      const { seq: keptFrom } = event.actions.history ?? {};
      return { seq: 7, keptFrom };
    },
  ],
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
  await cold();
});
