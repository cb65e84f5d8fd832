import { createEvent, type Event, systemPlatform } from '@eventloom/core';
import { sealEvent } from '@eventloom/core/internal';
import { modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { type LoadedSession, type SessionCacheOptions, SessionLoader } from './session-loader.ts';

/** A session with this number of events, in the form that a run leaves it. */
function loadedOf(count: number): LoadedSession {
  return loadedWith(...Array.from({ length: count }, (_, index) => userEvent(String(index))));
}

function loadedWith(...given: Event[]): LoadedSession {
  const events = given.map((event) => sealEvent(event));
  const key = { appName: 'app', userId: 'u', id: 's' };
  const session = { ...key, state: {}, events, lastUpdateTime: 0, lastSeq: events.length, incarnation: 'i' };
  return { session, derived: new Map(), places: undefined, isCacheable: true, omitted: 0 };
}

function createLoader(options?: SessionCacheOptions): SessionLoader {
  return new SessionLoader(systemPlatform, options);
}

test('a cached session is taken once', () => {
  const loader = createLoader();
  loader.cache('a', loadedOf(2));
  expect(loader.take('a')).toMatchObject({ incarnation: 'i', lastSeq: 2, events: [{}, {}] });
  expect(loader.take('a')).toBeUndefined();
});

test('a session replaces its earlier entry', () => {
  const loader = createLoader({ maxEvents: 3 });
  loader.cache('a', loadedOf(2));
  loader.cache('a', loadedOf(3));
  loader.cache('b', loadedOf(0));
  expect(loader.take('a')?.lastSeq).toBe(3);
});

test('the least recently used session is removed when there are too many', () => {
  const loader = createLoader({ maxSessions: 2 });
  for (const key of ['a', 'b']) loader.cache(key, loadedOf(1));
  loader.take('a');
  loader.cache('a', loadedOf(1));
  loader.cache('c', loadedOf(1));
  expect(['a', 'b', 'c'].map((key) => loader.take(key)?.lastSeq)).toEqual([1, undefined, 1]);
});

test('sessions are removed until the number of events fits', () => {
  const loader = createLoader({ maxEvents: 10 });
  for (const key of ['a', 'b', 'c']) loader.cache(key, loadedOf(3));
  loader.cache('d', loadedOf(7));
  expect(['a', 'b', 'c', 'd'].map((key) => loader.take(key)?.lastSeq)).toEqual([undefined, undefined, 3, 7]);
});

test('a session that is taken leaves room for the events of another one', () => {
  const loader = createLoader({ maxEvents: 4 });
  loader.cache('a', loadedOf(2));
  loader.cache('b', loadedOf(2));
  loader.take('a');
  loader.cache('c', loadedOf(2));
  expect(['b', 'c'].map((key) => loader.take(key)?.lastSeq)).toEqual([2, 2]);
});

test('a session with more events than the limit is not cached and removes no other', () => {
  const loader = createLoader({ maxEvents: 4 });
  loader.cache('a', loadedOf(4));
  loader.cache('b', loadedOf(5));
  expect(loader.take('b')).toBeUndefined();
  expect(loader.take('a')?.lastSeq).toBe(4);
});

const DATA = 'x'.repeat(400);
const largeEvents = [
  ['a text', modelEvent('bot', [{ text: DATA }])],
  ['a file', modelEvent('bot', [{ inlineData: { mimeType: 'text/plain', data: DATA } }])],
  ['a tool call', modelEvent('bot', [{ functionCall: { name: 'save', args: { DATA } } }])],
  ['a state change', createEvent({ author: 'bot', actions: { stateDelta: { DATA } } })],
] as const;

test.each(largeEvents)('sessions are removed until the characters fit: %s', (_, event) => {
  const loader = createLoader({ maxChars: 1000 });
  loader.cache('a', loadedWith(event, event));
  loader.cache('b', loadedWith(event));
  expect(['a', 'b'].map((key) => loader.take(key)?.lastSeq)).toEqual([undefined, 1]);
  loader.cache('c', loadedWith(event, event, event));
  expect(loader.take('c')).toBeUndefined();
});

test('the characters of a session are counted again only for its new events', () => {
  const loader = createLoader({ maxChars: 1000 });
  const event = modelEvent('bot', [{ text: DATA }]);
  loader.cache('a', { ...loadedWith(event, event), cachedBefore: { events: 1, chars: 100 } });
  expect(loader.take('a')?.chars).toBe(500);
});

test('a limit of zero caches nothing', () => {
  const loader = createLoader({ maxSessions: 0 });
  loader.cache('a', loadedOf(1));
  expect(loader.take('a')).toBeUndefined();
});

test('a session is not cached if the program changed its list of events', () => {
  const loader = createLoader();
  const added = loadedOf(2);
  added.session.events.push(sealEvent(userEvent('added')));
  const removed = loadedOf(2);
  removed.session.events.pop();
  const replaced = loadedOf(2);
  replaced.session.events[1] = userEvent('replaced');
  for (const loaded of [added, removed, replaced]) {
    loader.cache('a', loadedOf(1));
    loader.cache('a', loaded);
    expect(loader.take('a')).toBeUndefined();
  }
});
