import { expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { newestFirst } from './newest-first.ts';

const event = (id: string, rewindBeforeInvocationId?: string): Event =>
  createEvent({
    id,
    invocationId: id[0] ?? '',
    ...(rewindBeforeInvocationId ? { actions: { rewindBeforeInvocationId } } : {}),
  });
const ids = (...events: Event[]): string => Array.from(newestFirst(events), ({ id }) => id).join(' ');

test('newestFirst yields events from newest to oldest', () => {
  expect(ids(event('a1'), event('a2'), event('b1'))).toBe('b1 a2 a1');
  expect(ids()).toBe('');
});

test('newestFirst leaves out rewound events and ignores rewinds among them', () => {
  expect(ids(event('a1'), event('b1'), event('b2'), event('c1'), event('r', 'b'), event('d1'))).toBe('d1 a1');
  expect(ids(event('a1'), event('b1'), event('r', 'b'), event('c1'), event('s', 'a'))).toBe('');
});

test('a rewind to an unknown invocation has no effect', () => {
  expect(ids(event('a1'), event('r', 'x'))).toBe('a1');
});
