import { userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type CachedEvents, SessionCache } from './session-loader.ts';

function entryOf(count: number): CachedEvents {
  const events = Array.from({ length: count }, (_, index) => userEvent(String(index)));
  return { incarnation: 'i', lastSeq: count, events, derived: new Map(), places: undefined };
}

test('what was put in is taken out once', () => {
  const cache = new SessionCache();
  const entry = entryOf(2);
  cache.put('a', entry);
  expect(cache.take('a')).toEqual(entry);
  expect(cache.take('a')).toBeUndefined();
});

test('what is put in takes the place of what was there', () => {
  const cache = new SessionCache({ maxEvents: 3 });
  cache.put('a', entryOf(2));
  cache.put('a', entryOf(3));
  cache.put('b', entryOf(0));
  expect(cache.take('a')?.lastSeq).toBe(3);
});

test('the session used least recently goes when there are too many', () => {
  const cache = new SessionCache({ maxSessions: 2 });
  for (const key of ['a', 'b']) cache.put(key, entryOf(1));
  cache.put('a', cache.take('a') ?? entryOf(0));
  cache.put('c', entryOf(1));
  expect(['a', 'b', 'c'].map((key) => cache.take(key)?.lastSeq)).toEqual([1, undefined, 1]);
});

test('sessions go until the events that are left are few enough', () => {
  const cache = new SessionCache({ maxEvents: 10 });
  for (const key of ['a', 'b', 'c']) cache.put(key, entryOf(3));
  cache.put('d', entryOf(7));
  expect(['a', 'b', 'c', 'd'].map((key) => cache.take(key)?.lastSeq)).toEqual([undefined, undefined, 3, 7]);
});

test('events that were taken out make room', () => {
  const cache = new SessionCache({ maxEvents: 4 });
  cache.put('a', entryOf(2));
  cache.put('b', entryOf(2));
  cache.take('a');
  cache.put('c', entryOf(2));
  expect(['b', 'c'].map((key) => cache.take(key)?.lastSeq)).toEqual([2, 2]);
});

test('a session with more events than all may have is not kept, and pushes nobody out', () => {
  const cache = new SessionCache({ maxEvents: 4 });
  cache.put('a', entryOf(4));
  cache.put('b', entryOf(5));
  expect(cache.take('b')).toBeUndefined();
  expect(cache.take('a')?.lastSeq).toBe(4);
});

test('with room for none, none is kept', () => {
  const cache = new SessionCache({ maxSessions: 0 });
  cache.put('a', entryOf(1));
  expect(cache.take('a')).toBeUndefined();
});
