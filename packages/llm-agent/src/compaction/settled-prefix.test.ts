import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { expect, test } from 'vitest';
import { settledPrefix } from './settled-prefix.ts';

/** Events one second apart, each of the named invocation. */
function eventsOf(...given: readonly (EventParams & { readonly invocationId: string })[]): Event[] {
  return given.map((params, index) => createEvent({ id: `${index}`, author: 'bot', timestamp: index + 1, ...params }));
}

/** Returns how many of the first `atMost` events can be summarized. */
function settled(events: readonly Event[], atMost = events.length): number {
  const indexes = events.map((_, index) => index);
  return settledPrefix({ events, indexes, atMost, coveredUntil: -Infinity }).count;
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

test('the prefix does not split an invocation, even one that continues after others', () => {
  expect(settled(eventsOf(said('a'), said('a'), said('b'), said('b')), 3)).toBe(2);
  expect(settled(eventsOf(said('a'), said('a'), said('a')), 2)).toBe(0);
  expect(settled(eventsOf(said('a'), said('b'), said('b'), said('a')), 3)).toBe(0);
});

test('the prefix does not separate a call from a response in another invocation', () => {
  const events = eventsOf(said('a'), called('b', 'c'), said('c'), answered('d', 'c'));
  expect([settled(events, 3), settled(events, 4)]).toEqual([1, 4]);
});

test('the prefix ends before a long-running call without a response, but includes other calls without one', () => {
  expect(settled(eventsOf(said('a'), called('b', 'c', ['c']), said('c')))).toBe(1);
  expect(settled(eventsOf(said('a'), called('b', 'c', []), said('c')))).toBe(3);
});

test('the prefix excludes events that are as old as an excluded event', () => {
  expect(settled(eventsOf({ ...said('a'), timestamp: 3 }, said('b'), { ...said('c'), timestamp: 3 }), 2)).toBe(0);
});

test('the prefix excludes a resumable run until it has ended', () => {
  const open = [said('a'), begun('b'), called('b', 'c'), said('c'), said('d')];
  expect(settled(eventsOf(...open))).toBe(1);
  expect(settled(eventsOf(...open, answered('b', 'c')))).toBe(1);
  expect(settled(eventsOf(...open, answered('b', 'c'), ended('b')))).toBe(7);
  expect(settled(eventsOf(said('a'), { ...begun('b'), author: 'bot' }, said('c')))).toBe(3);
});

test('the prefix includes a resumable run once more than ten invocations followed it', () => {
  const later = Array.from({ length: 10 }, (_, index) => said(`later ${index}`));
  expect(settled(eventsOf(begun('a'), called('a', 'c'), ...later))).toBe(0);
  expect(settled(eventsOf(begun('a'), called('a', 'c'), ...later, said('one more')))).toBe(13);
});
