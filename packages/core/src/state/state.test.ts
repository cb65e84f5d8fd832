import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { InvalidRequestError, StateKeyError, StateValueError } from '../errors.ts';
import { createEventActions } from '../event/create-event.ts';
import type { EventActions } from '../event/event-actions.ts';
import { checkStateDelta, State, StateReader } from './state.ts';

/** State over a view, with the actions of the event to come. */
function stateOf(view: Record<string, unknown> = {}): {
  state: State;
  view: Record<string, unknown>;
  actions: EventActions;
} {
  const actions = createEventActions();
  return { state: new State(view, actions), view, actions };
}

test('an assignment to a property is refused, and names the method to call', () => {
  const { state, actions } = stateOf({ a: 1 });
  const message = 'state.a = … does not write state; write state.set("a", value)';
  expect(() => Object.assign(state, { a: 2 })).toThrow(InvalidRequestError);
  expect(() => Object.assign(state, { a: 2 })).toThrow(message);
  expect(actions.stateDelta).toEqual({});
});

describe('reading', () => {
  test('returns the value, the default for an absent key, and null for null', () => {
    const { state } = stateOf({ a: 1, nothing: null });
    expect(state.get('a')).toBe(1);
    expect(state.get('a', 2)).toBe(1);
    expect(state.get('nothing', 'default')).toBeNull();
    expect(state.get('absent')).toBeUndefined();
    expect(state.get('absent', 'default')).toBe('default');
  });

  test('console.log and JSON.stringify show the values', () => {
    const { state } = stateOf({ a: 1, 'user:list': [2] });
    state.set('b', 3);
    expect(inspect(state)).toBe("{ a: 1, 'user:list': [ 2 ], b: 3 }");
    expect(JSON.parse(JSON.stringify(state))).toEqual({ a: 1, 'user:list': [2], b: 3 });
    expect(inspect(new StateReader({ a: 1 }))).toBe('{ a: 1 }');
  });

  test('has is true for a present key, even with null', () => {
    const { state } = stateOf({ nothing: null });
    expect(state.has('nothing')).toBe(true);
    expect(state.has('absent')).toBe(false);
  });

  test('does not find inherited names', () => {
    const { state } = stateOf();
    for (const key of ['toString', '__proto__', 'constructor']) {
      expect(state.get(key)).toBeUndefined();
      expect(state.has(key)).toBe(false);
    }
  });

  test('returns copies', () => {
    const { state, actions } = stateOf({ list: [{ a: 1 }] });
    const list = state.get<{ a: number }[]>('list');
    list?.push({ a: 2 });
    (state.toRecord()['list'] as unknown[]).push(3);
    expect(state.get('list')).toEqual([{ a: 1 }]);
    expect(actions.stateDelta).toEqual({});
  });

  test('toRecord returns all keys with their prefixes', () => {
    const { state } = stateOf({ 'app:a': 1, b: 2 });
    state.set('temp:c', 3);
    expect(state.toRecord()).toEqual({ 'app:a': 1, b: 2, 'temp:c': 3 });
  });
});

describe('writing', () => {
  test('is visible at once and recorded in the delta of the next event', () => {
    const { state, view, actions } = stateOf({ a: 1 });
    state.set('a', 2);
    state.set('user:b', { c: null });
    state.set('temp:d', 'now');
    expect(state.get('a')).toBe(2);
    expect(view).toEqual({ a: 2, 'user:b': { c: null }, 'temp:d': 'now' });
    expect(actions).toEqual({ stateDelta: { a: 2, 'user:b': { c: null }, 'temp:d': 'now' }, artifactDelta: {} });
  });

  test('is visible to other contexts of the same session before it is committed', () => {
    const view = {};
    const writer = new State(view, createEventActions());
    const reader = new State(view, createEventActions());
    writer.set('draft', 1);
    expect(reader.get('draft')).toBe(1);
    writer.remove('draft');
    expect(reader.has('draft')).toBe(false);
  });

  test('copies the given value', () => {
    const { state, actions } = stateOf();
    const value = { list: [1] };
    state.set('a', value);
    value.list.push(2);
    expect(state.get('a')).toEqual({ list: [1] });
    expect(actions.stateDelta).toEqual({ a: { list: [1] } });
  });

  test('replaces objects as a whole', () => {
    const { state, actions } = stateOf({ a: { b: 1, c: 1 } });
    state.set('a', { b: 2 });
    expect(state.get('a')).toEqual({ b: 2 });
    expect(actions.stateDelta).toEqual({ a: { b: 2 } });
  });

  test('treats __proto__ as an ordinary key', () => {
    const { state, actions } = stateOf();
    state.set('__proto__', { admin: true });
    expect(state.get('__proto__')).toEqual({ admin: true });
    expect(state.get('admin')).toBeUndefined();
    expect(JSON.stringify(actions.stateDelta)).toBe('{"__proto__":{"admin":true}}');
    state.remove('__proto__');
    expect(state.has('__proto__')).toBe(false);
  });

  test('sets instances of classes as their JSON', () => {
    class Order {
      readonly placed = new Date(0);
      readonly at = new URL('https://example.com/');
    }
    const { state, actions } = stateOf();
    state.set('order', new Order());
    const json = { placed: '1970-01-01T00:00:00.000Z', at: 'https://example.com/' };
    expect(state.get('order')).toEqual(json);
    expect(actions.stateDelta).toEqual({ order: json });
  });

  test.each([
    [
      'a map',
      new Map([['a', 1]]),
      'the value is an object of the class Map, whose content JSON would lose (write Object.fromEntries(map))',
    ],
    ['NaN deep inside', { list: [1, Number.NaN] }, 'the value at list.1 is NaN, which JSON cannot represent'],
  ])('refuses %s when it is set, and changes nothing', (_name, value, reason) => {
    const { state, view, actions } = stateOf({ a: 1 });
    expect(() => state.set('a', value)).toThrow(new StateValueError(`state key "a": ${reason}; state holds JSON`));
    expect(view).toEqual({ a: 1 });
    expect(actions.stateDelta).toEqual({});
  });

  test.each(['', 'user:', 'a\0', 'x'.repeat(257)])('throws StateKeyError for the key %j and changes nothing', (key) => {
    const { state, view, actions } = stateOf();
    expect(() => state.set(key, 1)).toThrow(StateKeyError);
    expect(() => state.remove(key)).toThrow(StateKeyError);
    expect(view).toEqual({});
    expect(actions).toEqual(createEventActions());
  });
});

describe('remove', () => {
  test('removes the key and records it once in the next event', () => {
    const { state, view, actions } = stateOf({ a: 1 });
    state.remove('a');
    state.remove('a');
    expect(view).toEqual({});
    expect(actions).toEqual({ stateDelta: {}, artifactDelta: {}, removedState: ['a'] });
  });

  test('records the removal of an absent key, which a concurrent writer may have set', () => {
    const { state, actions } = stateOf();
    state.remove('a');
    expect(actions.removedState).toEqual(['a']);
  });

  test('cancels a write of the same event, and a later write cancels the removal', () => {
    const { state, actions } = stateOf();
    state.set('a', 1);
    state.remove('a');
    state.remove('b');
    expect(actions).toEqual({ stateDelta: {}, artifactDelta: {}, removedState: ['a', 'b'] });
    state.set('a', 2);
    expect(actions).toEqual({ stateDelta: { a: 2 }, artifactDelta: {}, removedState: ['b'] });
    state.set('b', 3);
    expect(actions).not.toHaveProperty('removedState');
  });
});

describe('undefined', () => {
  test.each([
    ['set', (state: State) => state.set('a', undefined)],
    ['update', (state: State) => state.update({ a: undefined, 'user:b': 2 })],
  ])('removes the key in %s', (_method, write) => {
    const { state, view, actions } = stateOf({ a: 1 });
    write(state);
    expect([state.has('a'), state.get('a', 'default')]).toEqual([false, 'default']);
    expect(Object.keys(view)).not.toContain('a');
    expect(actions.removedState).toEqual(['a']);
  });
});

describe('update', () => {
  test('sets every key', () => {
    const { state, actions } = stateOf({ a: 1 });
    state.update({ a: 2, 'app:b': null });
    expect(actions.stateDelta).toEqual({ a: 2, 'app:b': null });
    expect(state.toRecord()).toEqual({ a: 2, 'app:b': null });
  });

  test.each([
    { good: 1, 'user:': 2 },
    { good: 1, bad: Number.NaN },
  ])('sets no key if one is invalid: %j', (delta) => {
    const { state, view, actions } = stateOf();
    expect(() => state.update(delta)).toThrow(/^state key /);
    expect(view).toEqual({});
    expect(actions.stateDelta).toEqual({});
  });
});

describe('checkStateDelta', () => {
  test('leaves out keys that are undefined, but checks them', () => {
    expect(checkStateDelta({ a: undefined, b: { c: undefined, list: [undefined] } })).toEqual({ b: { list: [null] } });
    expect(Object.keys(checkStateDelta({ a: undefined }))).toEqual([]);
    expect(() => checkStateDelta({ 'user:': undefined })).toThrow(StateKeyError);
  });

  test('returns a copy', () => {
    const delta = { a: { b: 1 } };
    const checked = checkStateDelta(delta);
    expect(checked).toEqual(delta);
    expect(checked['a']).not.toBe(delta.a);
  });

  test('names the key and the path of the invalid value', () => {
    expect(() => checkStateDelta({ 'user:a': { b: [() => 1] } })).toThrow(
      'state key "user:a": the value at b.0 is a function; state holds JSON',
    );
    expect(() => checkStateDelta({ '': 1 })).toThrow(StateKeyError);
  });
});

test('State has the prefixes under their ADK names', () => {
  expect([State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX]).toEqual(['app:', 'user:', 'temp:']);
});

test('a record in place of a key is refused, and the error names update', () => {
  const { state } = stateOf();
  expect(() => state.set({ city: 'Rome' } as never, undefined)).toThrow(
    "state key: expected a string, got an object; write state.set('city', value), or state.update({ city: value })",
  );
});

test('a value that a program writes to the delta itself is read before that of the session', () => {
  const actions = createEventActions();
  const state = new State({ step: 1, city: 'Lima' }, actions);
  actions.stateDelta['step'] = 2;
  actions.stateDelta['next'] = { step: 3 };
  expect([state.get('step'), state.get('next'), state.has('next'), state.has('none')]).toEqual([
    2,
    { step: 3 },
    true,
    false,
  ]);
  expect(state.toRecord()).toEqual({ step: 2, city: 'Lima', next: { step: 3 } });
});
