import { type EventsCompactionConfig } from '@eventloom/llm-agent';
import { userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { foreign, IDS, setUp, Summarizer } from './fixtures/long-session.ts';

/** A session that another program compacted, except for its newest four events. */
async function setUpForeign(count: number) {
  const made = await setUp(null);
  const ids = await made.turns(count);
  const events = await made.stored();
  const timeOf = (index: number): number => events.at(index)?.timestamp ?? expect.unreachable();
  await made.append(foreign(timeOf(0), timeOf(-5), timeOf(-1)));
  return { ...made, ids, timeOf };
}

test('after a compaction of another program a cold turn reads the same number of events after 300 turns as after 3,000', async () => {
  const [short, long] = [await setUpForeign(300), await setUpForeign(3000)];
  const [few, many] = [await short.cold(), await long.cold()];
  expect(many).toBe(few);
  expect(many).toBeLessThanOrEqual(110);
});

test('an event with a timestamp before the end of a foreign compaction and appended after it is read', async () => {
  const { append, cold, agent, timeOf } = await setUpForeign(300);
  await append(userEvent('from elsewhere', { id: 'late', timestamp: timeOf(20) }));
  expect(await cold()).toBeLessThanOrEqual(110);
  expect(agent.seen.map(({ id }) => id)).toContain('late');
});

test('events that a foreign compaction leaves out are read once each, however old they are', async () => {
  const { append, cold, agent, turns, stored } = await setUp(null);
  await turns(600);
  const events = await stored();
  await append(foreign(0, events[899]?.timestamp ?? 0, events.at(-1)?.timestamp));
  await cold();
  expect(new Set(agent.seen.map(({ id }) => id)).size).toBe(agent.seen.length);
  expect(agent.seen.length).toBeLessThan(400);
});

test('a rewind over a foreign compaction skips ranges', async () => {
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

test('events between an undone compaction and the one before it are read', async () => {
  const { append, cold, turns, warm, stored, timeOf, agent } = await setUp(null).then(async (made) => {
    await made.turns(300);
    const events = await made.stored();
    return { ...made, timeOf: (index: number) => events.at(index)?.timestamp ?? 0 };
  });
  // The compaction leaves 200 events, which the undone one covers.
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
])('an event left by a compaction of another program that %s is visible', async (_, make) => {
  const { append, cold, turns, stored } = await setUp(null);
  await turns(300);
  const events = await stored();
  for (const event of make((turn) => events[turn * 2]?.timestamp ?? 0)) await append(event);
  await turns(60);
  await cold();
});

test('a rewind before a foreign compaction restores the events it left out', async () => {
  const { append, cold, turns, warm, stored } = await setUp(null);
  const ids = await turns(200);
  const events = await stored();
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[100] ?? '' });
  await turns(70);
  await append(foreign(0, events[250]?.timestamp ?? 0, (await stored()).at(-1)?.timestamp));
  await cold();
});

test('an earlier summary that a foreign compaction does not cover is read', async () => {
  const { append, cold, turns, stored } = await setUp(null);
  await turns(20);
  const early = await stored();
  await append(foreign(0, early[9]?.timestamp ?? 0, early.at(-1)?.timestamp));
  await turns(200);
  await append(foreign(early[0]?.timestamp ?? 0, (await stored()).at(-1)?.timestamp ?? 0));
  await cold();
});

test('an earlier summary that was rewound is not read', async () => {
  const { append, cold, turns, warm, stored } = await setUp(null);
  const ids = await turns(300);
  const events = await stored();
  await append(foreign(0, events[200]?.timestamp ?? 0, events.at(-1)?.timestamp));
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: ids[200] ?? '' });
  await turns(5);
  await append(foreign(events[0]?.timestamp ?? 0, (await stored()).at(-1)?.timestamp ?? 0));
  await cold();
});

test('after an incomplete compaction and a rewind, an earlier compaction bounds the read', async () => {
  const { append, cold, turns, warm, stored, timeOf } = await setUpForeign(1000);
  await append(foreign(timeOf(0), timeOf(-1)));
  const later = await turns(100);
  const undone = (await stored()).find(({ invocationId }) => invocationId === later[60]);
  await warm.rewindAsync({ ...IDS, rewindBeforeInvocationId: later[50] ?? '' });
  await append(foreign(timeOf(0), undone?.timestamp ?? 0, (await stored()).at(-1)?.timestamp));
  expect(await cold()).toBeLessThanOrEqual(900);
});

test('a compaction whose events have unknown positions does not lengthen later reads', async () => {
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
