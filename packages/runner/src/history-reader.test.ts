import { createEvent, type Event, type SessionRecord } from '@eventloom/core';
import { effectiveEvents } from '@eventloom/llm-agent/internal';
import { userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { foreign, IDS, KEY, setUp } from './fixtures/long-session.ts';
import { needsEarlierEvents } from './history-reader.ts';

test('a cold turn of a compacted session reads the same number of events after 20 turns as after 3,000', async () => {
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
  'a cold turn reads the same number of events after a rewind across compactions, to turn %i of 3,000',
  async (target) => {
    const { turns, warm, cold, sessionService } = await setUp();
    const ids = await turns(3000);
    await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[target] ?? '' });
    for (let turn = 0; turn < 12; turn++) expect(await cold()).toBeLessThanOrEqual(201);
    // A process with a cache reads only new events, and skips rewound ones as a cold process does.
    sessionService.read = 0;
    await turns(1);
    expect(sessionService.read).toBeLessThanOrEqual(201);
  },
);

test('rewinds of rewinds are skipped one after the other', async () => {
  const { turns, warm, cold } = await setUp();
  const ids = await turns(500);
  for (const target of [400, 300, 50]) {
    await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[target] ?? '' });
    await turns(90);
  }
  const rewinds = await turns(1);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: rewinds[0] ?? '' });
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[20] ?? '' });
  expect(await cold()).toBeLessThanOrEqual(201);
});

test('a session without compactions is read whole, each event once', async () => {
  const { turns, cold, stored } = await setUp(null);
  await turns(400);
  const { length } = await stored();
  expect(await cold()).toBe(length);
});

test('the number of window summaries that a cold turn reads is bounded', async () => {
  const { turns, cold, stored } = await setUp({ compactionInterval: 2 });
  await turns(400);
  const summaries = effectiveEvents(await stored()).filter((item) => 'summary' in item);
  expect(summaries.length).toBeGreaterThan(1);
  expect(summaries.length).toBeLessThanOrEqual(32);
  expect(await cold()).toBeLessThanOrEqual(232);
});

test('events appended after a compaction are read, even with a timestamp before its end', async () => {
  const { turns, cold, append, agent } = await setUp();
  await turns(63);
  await append(userEvent('from elsewhere', { id: 'late', timestamp: 1 }));
  await cold();
  expect(agent.seen.map(({ id }) => id)).toContain('late');
  expect(agent.seen.length).toBeLessThan(40);
});

test.each(Array.from({ length: 12 }, (_, index) => index + 1))(
  'a cold turn reads the right events in random mixes of compactions, rewinds and early timestamps (seed %i)',
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

test('needsEarlierEvents is true if only a call that takes no answer has the id', () => {
  const content = { role: 'model', parts: [{ functionCall: { id: 'c', name: 'look' } }] };
  const called = createEvent({ invocationId: 'e', author: 'bot', content });
  expect(needsEarlierEvents([called], ['c'], undefined)).toBe(false);
  // Calls of an agent that runs as a tool take an answer only in a run that can continue.
  expect(needsEarlierEvents([{ ...called, branch: 'helper@c' }], ['c'], undefined)).toBe(true);
});

test('a rewind without a read position is resolved by reading everything', async () => {
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
      // Only the summary would be left.
      const { seq: keptFrom } = event.actions.history ?? {};
      return { seq: 7, keptFrom };
    },
  ],
  ['behind itself', (event: Event) => ({ ...event.actions.history, keptFrom: 1e9 })],
  ['to summaries that are not there', (event: Event) => ({ ...event.actions.history, summaries: ['none'] })],
])('a pointer %s is ignored', async (_, wrong) => {
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
