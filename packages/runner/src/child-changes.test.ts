import { createEvent, createEventActions, type Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { ChildChanges } from './child-changes.ts';

function responding(...ids: string[]): Event {
  const parts = ids.map((id) => ({ functionResponse: { id, name: 'helper', response: {} } }));
  return createEvent({ branch: 'par.lead', content: { role: 'user', parts } });
}

function changesOf(id: string, stateDelta: Record<string, unknown>, removedState: string[] = []): ChildChanges {
  const changes = new ChildChanges();
  changes.note(`par.lead.helper@${id}`, createEventActions({ stateDelta, removedState }));
  return changes;
}

test('a response has the current values of the keys that its call changed', () => {
  const changes = changesOf('c1', { a: 1, gone: 1 }, ['back']);
  const { actions } = changes.applyTo(responding('c1'), { a: 2, back: 3, other: 4 });
  expect(actions).toEqual({ stateDelta: { a: 2, back: 3 }, removedState: ['gone'], artifactDelta: {} });
});

test('a change is applied once, and to no response of another call', () => {
  const changes = changesOf('c1', { a: 1 });
  const other = responding('c2');
  expect(changes.applyTo(other, { a: 1 })).toBe(other);
  expect(changes.applyTo(responding('c2', 'c1'), { a: 1 }).actions.stateDelta).toEqual({ a: 1 });
  const again = responding('c1');
  expect(changes.applyTo(again, { a: 1 })).toBe(again);
});

test('what the event itself changes is what it says', () => {
  const changes = changesOf('c1', { a: 1, b: 1 });
  const event = { ...responding('c1'), actions: createEventActions({ stateDelta: { a: 'own' }, removedState: ['b'] }) };
  expect(changes.applyTo(event, { a: 1, b: 1 }).actions).toEqual(event.actions);
});

test('what is told is a copy, and keys like __proto__ are data', () => {
  const state = JSON.parse('{"__proto__": {"bad": true}}') as Record<string, unknown>;
  const { stateDelta } = changesOf('c1', state).applyTo(responding('c1'), state).actions;
  expect(Object.entries(stateDelta)).toEqual([['__proto__', { bad: true }]]);
  expect(Object.entries(stateDelta)[0]?.[1]).not.toBe(Object.entries(state)[0]?.[1]);
});
