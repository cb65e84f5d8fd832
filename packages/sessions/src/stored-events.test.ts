import { createEvent, type Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { selectEvents } from './select-events.ts';
import type { EventWindow } from './session-driver.ts';
import { IdIndex, StoredEvents } from './stored-events.ts';

/** Longer than two blocks. */
const MANY = 1300;

function eventAt(index: number, timestamp: number, compactedUntil?: number): Event {
  const compaction = { startTimestamp: 1, endTimestamp: compactedUntil ?? 1, compactedContent: { parts: [] } };
  const actions = compactedUntil === undefined ? {} : { compaction };
  return createEvent({ id: `event ${index}`, author: 'agent', timestamp, actions });
}

function storedEvents(events: readonly Event[]): StoredEvents {
  const stored = new StoredEvents();
  for (const event of events) stored.add(event);
  return stored;
}

/** Sessions whose timestamps increase, go back, begin far in the future, or are in random order. */
const sessions: Record<string, (index: number) => Event> = {
  'times rise': (index) => eventAt(index, 10 + index, index % 400 === 399 ? index - 30 : undefined),
  'the first is dated ahead': (index) =>
    eventAt(index, index === 0 ? 1e9 : 10 + index, index === 700 ? 600 : undefined),
  'times go back now and then': (index) =>
    eventAt(index, 10 + index - (index % 7) * 90, index === 900 ? 1000 : undefined),
  'times are in no order': (index) => eventAt(index, 10 + ((index * 7919) % MANY), index % 500 === 3 ? 640 : undefined),
  'there is no compaction': (index) => eventAt(index, 10 + Math.floor(index / 3)),
};

test.each(Object.entries(sessions))('a window equals a filter over every event: %s', (_, make) => {
  for (const length of [0, 1, 5, 511, 512, 513, MANY]) {
    const events = Array.from({ length }, (_, index) => make(index));
    const stored = storedEvents(events);
    for (const afterTimestamp of [undefined, 0, 11, 500, 641, 1250, 2e9]) {
      for (const sinceCompaction of [false, true]) {
        for (const limit of [undefined, 0, 1, 10, 600]) {
          for (const [afterSeq, beforeSeq] of [
            [0, undefined],
            [3, 9],
            [500, 1100],
            [512, 1025],
            [7, 0],
            [2000, 3000],
          ] as const) {
            const window: EventWindow = { afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit };
            const expected = selectEvents(events, window).map(({ id }) => id);
            expect(
              stored.read(window).map(({ id }) => id),
              JSON.stringify({ length, ...window }),
            ).toEqual(expected);
          }
        }
      }
    }
  }
});

test('an id is stored once, and a duplicate returns the stored event', () => {
  const events = Array.from({ length: MANY }, (_, index) => eventAt(index, index));
  const stored = new StoredEvents();
  for (const [index, event] of events.entries()) {
    expect(stored.add(event)).toBeUndefined();
    for (const earlier of [0, index >> 1, index]) {
      expect(stored.add({ ...eventAt(earlier, 0), author: 'another' })).toBe(events[earlier]);
    }
  }
  expect(stored.length).toBe(MANY);
});

test('a returned list is a copy', () => {
  const stored = storedEvents([eventAt(0, 1), eventAt(1, 2)]);
  const window = {
    afterSeq: 0,
    beforeSeq: undefined,
    sinceCompaction: false,
    afterTimestamp: undefined,
    limit: undefined,
  };
  stored.read(window).length = 0;
  expect(stored.read(window)).toHaveLength(2);
});

/** A number of ids so large that some have the same hash. */
const ENOUGH_TO_COLLIDE = 400_000;

test('every id keeps its first index, even if hashes collide', () => {
  const ids = Array.from({ length: ENOUGH_TO_COLLIDE }, (_, index) => `event ${index}`);
  const list = { idAt: (index: number) => ids[index] };
  const table = new IdIndex();
  expect(ids.findIndex((id, index) => table.claim(list, id, index) !== index)).toBe(-1);
  expect(ids.findIndex((id, index) => table.claim(list, id, ENOUGH_TO_COLLIDE) !== index)).toBe(-1);
});
