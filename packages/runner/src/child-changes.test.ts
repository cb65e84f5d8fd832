import { createEvent, createEventActions, type Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { ChildChanges } from './child-changes.ts';

function responding(...ids: string[]): Event {
  const parts = ids.map((id) => ({ functionResponse: { id, name: 'helper', response: {} } }));
  return createEvent({ branch: 'par.lead', content: { role: 'user', parts } });
}

const enclosureOfCall = (id: string): string => `par.lead.helper@${id}`;

function changesOf(id: string, stateDelta: Record<string, unknown>, removedState: string[] = []): ChildChanges {
  const changes = new ChildChanges();
  changes.note(enclosureOfCall(id), createEventActions({ stateDelta, removedState }));
  return changes;
}

test('a response repeats the last change of each key in its call', () => {
  const changes = changesOf('c1', { a: 1, gone: 1 }, ['back']);
  changes.note(enclosureOfCall('c1'), createEventActions({ stateDelta: { a: 2, back: 3 }, removedState: ['gone'] }));
  const { event, repeatedState } = changes.repeatIn(responding('c1')) ?? expect.unreachable();
  expect(event.actions).toEqual({ stateDelta: { a: 2, back: 3 }, removedState: ['gone'], artifactDelta: {} });
  expect([...repeatedState].toSorted()).toEqual(['a', 'back', 'gone']);
});

test('a change is repeated once, and only in the response of its call', () => {
  const changes = changesOf('c1', { a: 1 });
  expect(changes.repeatIn(responding('c2'))).toBeUndefined();
  expect(changes.repeatIn(createEvent({ branch: 'par.lead' }))).toBeUndefined();
  expect(changes.repeatIn(responding('c2', 'c1'))?.event.actions.stateDelta).toEqual({ a: 1 });
  expect(changes.repeatIn(responding('c1'))).toBeUndefined();
});

test('a key changed later by another call or agent is omitted', () => {
  const changes = changesOf('c1', { a: 1, b: 1, c: 1 });
  changes.note(enclosureOfCall('c2'), createEventActions({ stateDelta: { a: 2 } }));
  changes.note('', createEventActions({ removedState: ['b'] }));
  expect(changes.repeatIn(responding('c1'))?.event.actions.stateDelta).toEqual({ c: 1 });
  expect(changes.repeatIn(responding('c2'))?.event.actions.stateDelta).toEqual({ a: 2 });
});

test('a change made by the response itself wins', () => {
  const changes = changesOf('c1', { a: 1, b: 1, c: 1 });
  const event = { ...responding('c1'), actions: createEventActions({ stateDelta: { a: 'own' }, removedState: ['b'] }) };
  const repeating = changes.repeatIn(event);
  expect(repeating?.event.actions).toMatchObject({ stateDelta: { a: 'own', c: 1 }, removedState: ['b'] });
  expect([...(repeating?.repeatedState ?? [])]).toEqual(['c']);
});

test('a resumed run repeats unchanged changes of calls without a response', () => {
  const changing = (id: string, invocationId: string, stateDelta: Record<string, unknown>): Event =>
    createEvent({ invocationId, branch: id && enclosureOfCall(id), actions: { stateDelta } });
  const changes = ChildChanges.inRun('e-1', [
    changing('c1', 'e-0', { before: 1 }),
    changing('c0', 'e-1', { done: 1 }),
    { ...responding('c0'), invocationId: 'e-1' },
    changing('c1', 'e-1', { kept: 1, own: 1, other: 1, moved: 1 }),
    changing('', 'e-1', { own: 2 }),
    changing('c1', 'e-2', { other: 2 }),
    changing('c2', 'e-1', { moved: 2 }),
  ]);
  expect(changes?.repeatIn(responding('c0'))).toBeUndefined();
  expect(changes?.repeatIn(responding('c1'))?.event.actions.stateDelta).toEqual({ kept: 1 });
  expect(changes?.repeatIn(responding('c2'))?.event.actions.stateDelta).toEqual({ moved: 2 });
  expect(ChildChanges.inRun('e-1', [changing('', 'e-1', { a: 1 })])).toBeUndefined();
});

test('a key like __proto__ is data', () => {
  const state = JSON.parse('{"__proto__": {"bad": true}}') as Record<string, unknown>;
  const { stateDelta } = changesOf('c1', state).repeatIn(responding('c1'))?.event.actions ?? expect.unreachable();
  expect(Object.entries(stateDelta)).toEqual([['__proto__', { bad: true }]]);
});
