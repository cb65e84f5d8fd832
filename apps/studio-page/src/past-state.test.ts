import { createEvent } from '@eventloom/core';
import { emptyConversation, reduceEvents } from '@eventloom/client';
import { expect, test } from 'vitest';
import { ownState, stateBefore } from './past-state.ts';

const change = (id: string, stateDelta: Record<string, unknown>, removedState: string[] = []) =>
  createEvent({ id, invocationId: 'e-1', author: 'helper', timestamp: 1, actions: { stateDelta, removedState } });

const EVENTS = [change('1', { budget: 90, 'user:mine': 1 }), change('2', { added: true }, ['draft'])];
const PRESENT = { plan: 'gold', budget: 90, added: true, 'user:mine': 1, 'user:other': 2, 'app:theme': 'dark' };

test('the state before the first event has the keys with which the session began, and the keys that none of its events changed', () => {
  const shared = { 'user:other': 2, 'app:theme': 'dark' };
  const initial = { plan: 'gold', budget: 100, draft: 'x' };
  const before = stateBefore(PRESENT, EVENTS, initial);
  expect(before).toEqual({ ...shared, ...initial });
  const at = (count: number) => reduceEvents({ ...emptyConversation, state: before }, EVENTS.slice(0, count)).state;
  expect(at(1)).toEqual({ ...shared, plan: 'gold', budget: 90, draft: 'x', 'user:mine': 1 });
  expect(at(2)).toEqual(PRESENT);
  // Until the beginning is known, it is not guessed.
  expect(stateBefore(PRESENT, EVENTS, undefined)).toEqual({ ...shared, plan: 'gold' });
});

test("a session's own state has no keys that others share", () => {
  expect(ownState({ a: 1, 'user:b': 2, 'app:c': 3, 'temp:d': 4, users: 5 })).toEqual({ a: 1, users: 5 });
});
