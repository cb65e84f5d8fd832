import { describe, expect, test } from 'vitest';
import { createEventActions, mergeEventActions } from './create-event.ts';
import { type EventActions, isEmptyActions } from './event-actions.ts';

test('createEventActions returns new deltas with each call', () => {
  expect(createEventActions()).toEqual({ stateDelta: {}, artifactDelta: {} });
  expect(createEventActions().stateDelta).not.toBe(createEventActions().stateDelta);
  expect(createEventActions({ escalate: true, stateDelta: { a: 1 } })).toEqual({
    stateDelta: { a: 1 },
    artifactDelta: {},
    escalate: true,
  });
});

describe('isEmptyActions', () => {
  test.each<Partial<EventActions>>([
    {},
    { escalate: false },
    { removedState: [] },
    { requestedAuthConfigs: {}, requestedToolConfirmations: {} },
    { transferToAgent: '' },
    JSON.parse('{"transferToAgent":null,"agentState":null}') as Partial<EventActions>,
  ])('is true for %j', (actions) => {
    expect(isEmptyActions(createEventActions(actions))).toBe(true);
  });

  test.each<Partial<EventActions>>([
    { stateDelta: { a: null } },
    { removedState: ['a'] },
    { artifactDelta: { 'a.txt': 0 } },
    { transferToAgent: 'b' },
    { escalate: true },
    { skipSummarization: true },
    { endOfAgent: true },
    { agentState: { step: 1 } },
    { requestedToolConfirmations: { c1: {} } },
    { rewindBeforeInvocationId: 'e-1' },
  ])('is false for %j', (actions) => {
    expect(isEmptyActions(createEventActions(actions))).toBe(false);
  });
});

describe('mergeEventActions', () => {
  test('merges deltas by key and signals one by one; the later value wins', () => {
    const merged = mergeEventActions([
      { stateDelta: { a: 1, b: 1 }, artifactDelta: { 'x.txt': 0 }, transferToAgent: 'first', escalate: true },
      { stateDelta: { b: 2, c: null }, artifactDelta: { 'x.txt': 1 }, transferToAgent: 'second' },
    ]);
    expect(merged).toEqual({
      stateDelta: { a: 1, b: 2, c: null },
      artifactDelta: { 'x.txt': 1 },
      transferToAgent: 'second',
      escalate: true,
    });
  });

  test('keeps the requests of all tools', () => {
    const merged = mergeEventActions([
      { requestedToolConfirmations: { c1: { hint: 'sure?' } }, requestedAuthConfigs: { c1: { key: 1 } } },
      { requestedToolConfirmations: { c2: { hint: 'really?' } }, requestedAuthConfigs: { c2: { key: 2 } } },
    ]);
    expect(merged.requestedToolConfirmations).toEqual({ c1: { hint: 'sure?' }, c2: { hint: 'really?' } });
    expect(merged.requestedAuthConfigs).toEqual({ c1: { key: 1 }, c2: { key: 2 } });
  });

  test('a later removal replaces a value, and a later value replaces a removal', () => {
    expect(mergeEventActions([{ stateDelta: { a: 1, b: 1 } }, { removedState: ['a', 'c'] }])).toEqual({
      stateDelta: { b: 1 },
      removedState: ['a', 'c'],
      artifactDelta: {},
    });
    expect(mergeEventActions([{ removedState: ['a', 'c'] }, { stateDelta: { a: 2 } }])).toEqual({
      stateDelta: { a: 2 },
      removedState: ['c'],
      artifactDelta: {},
    });
  });

  test('names a removed key once, and leaves the list out when it is empty', () => {
    expect(mergeEventActions([{ removedState: ['a'] }, { removedState: ['a'] }]).removedState).toEqual(['a']);
    expect(mergeEventActions([{ removedState: ['a'] }, { stateDelta: { a: 1 } }])).not.toHaveProperty('removedState');
  });

  test('a source that sets and removes a key removes it, like a commit', () => {
    expect(mergeEventActions([{ stateDelta: { a: 1 }, removedState: ['a'] }])).toEqual({
      stateDelta: {},
      removedState: ['a'],
      artifactDelta: {},
    });
  });

  test('an undefined signal does not override an earlier one', () => {
    const absent = { transferToAgent: undefined, escalate: null } as unknown as Partial<EventActions>;
    expect(mergeEventActions([{ transferToAgent: 'b', escalate: true }, absent])).toMatchObject({
      transferToAgent: 'b',
      escalate: true,
    });
  });

  test('does not modify its sources', () => {
    const first = createEventActions({ stateDelta: { a: 1 }, removedState: ['b'] });
    mergeEventActions([first, { stateDelta: { b: 2 }, removedState: ['a'] }]);
    expect(first).toEqual({ stateDelta: { a: 1 }, artifactDelta: {}, removedState: ['b'] });
  });

  test('treats __proto__ as an ordinary key', () => {
    const source = JSON.parse('{"stateDelta":{"__proto__":{"x":1}},"__proto__":{"escalate":true}}') as EventActions;
    const merged = mergeEventActions([source]);
    expect(JSON.stringify(merged)).toBe(
      '{"stateDelta":{"__proto__":{"x":1}},"artifactDelta":{},"__proto__":{"escalate":true}}',
    );
    expect(merged.escalate).toBeUndefined();
  });
});
