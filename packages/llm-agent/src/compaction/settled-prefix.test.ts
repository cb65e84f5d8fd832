import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { expect, test } from 'vitest';
import { settledPrefix } from './settled-prefix.ts';

/** Events a second apart, each of the invocation that it names. */
function eventsOf(...given: readonly (EventParams & { readonly invocationId: string })[]): Event[] {
  return given.map((params, index) => createEvent({ id: `${index}`, author: 'bot', timestamp: index + 1, ...params }));
}

/** Returns how many of the first `atMost` events can be summarized. */
function settled(events: readonly Event[], atMost = events.length): number {
  const positions = events.map((_, index) => index);
  return settledPrefix({ events, positions, atMost, coveredUntil: -Infinity }).count;
}

const said = (invocationId: string) => ({ invocationId });
const called = (invocationId: string, id: string, longRunningToolIds?: readonly string[]) => ({
  invocationId,
  content: { parts: [{ functionCall: { id, name: 'look', args: {} } }] },
  ...(longRunningToolIds ? { longRunningToolIds } : {}),
});
const answered = (invocationId: string, id: string) => ({
  invocationId,
  content: { parts: [{ functionResponse: { id, name: 'look', response: {} } }] },
});
const begun = (invocationId: string) => ({
  invocationId,
  author: 'user',
  actions: { agentState: { resumable: true } },
});
const ended = (invocationId: string) => ({ invocationId, author: 'app', object: 'runner.end' });

test('no invocation is cut in two, also one that is taken up again after others', () => {
  expect(settled(eventsOf(said('a'), said('a'), said('b'), said('b')), 3)).toBe(2);
  expect(settled(eventsOf(said('a'), said('a'), said('a')), 2)).toBe(0);
  expect(settled(eventsOf(said('a'), said('b'), said('b'), said('a')), 3)).toBe(0);
});

test('no call is parted from a response that another invocation gave', () => {
  const events = eventsOf(said('a'), called('b', 'c'), said('c'), answered('d', 'c'));
  expect([settled(events, 3), settled(events, 4)]).toEqual([1, 4]);
});

test('a long-running call that waits for its first response is left, and any other without one is not', () => {
  expect(settled(eventsOf(said('a'), called('b', 'c', ['c']), said('c')))).toBe(1);
  expect(settled(eventsOf(said('a'), called('b', 'c', []), said('c')))).toBe(3);
});

test('what is as old as something that is left is left as well', () => {
  expect(settled(eventsOf({ ...said('a'), timestamp: 3 }, said('b'), { ...said('c'), timestamp: 3 }), 2)).toBe(0);
});

test('a run that can be resumed is left until it came to its end', () => {
  const open = [said('a'), begun('b'), called('b', 'c'), said('c'), said('d')];
  expect(settled(eventsOf(...open))).toBe(1);
  expect(settled(eventsOf(...open, answered('b', 'c')))).toBe(1);
  expect(settled(eventsOf(...open, answered('b', 'c'), ended('b')))).toBe(7);
  expect(settled(eventsOf(said('a'), { ...begun('b'), author: 'bot' }, said('c')))).toBe(3);
});

test('a run that nobody resumes is waited for until more than ten invocations came after it', () => {
  const later = Array.from({ length: 10 }, (_, index) => said(`later ${index}`));
  expect(settled(eventsOf(begun('a'), called('a', 'c'), ...later))).toBe(0);
  expect(settled(eventsOf(begun('a'), called('a', 'c'), ...later, said('one more')))).toBe(13);
});
