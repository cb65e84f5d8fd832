import { describe, expect, test } from 'vitest';
import { InvalidEventError } from '../errors.ts';
import { createEvent } from './create-event.ts';
import { type Event, getStructuredOutput, STRUCTURED_OUTPUT } from './event.ts';
import { sealEvent } from './seal-event.ts';

function eventWith(customMetadata: Record<string, unknown>): Event {
  return createEvent({ id: '1', author: 'bot', content: { role: 'model', parts: [{ text: 'hi' }] }, customMetadata });
}

test('a sealed event cannot be written to at any depth', () => {
  const list = [{ a: 1 }];
  const event = sealEvent(eventWith({ list }));
  expect(() => Object.assign(event, { author: 'other' })).toThrow(TypeError);
  expect(() => Object.assign(event.content?.parts?.[0] ?? {}, { text: 'other' })).toThrow(TypeError);
  const sealed = event.customMetadata?.['list'] as { a: number }[] | undefined;
  expect(() => sealed?.push({ a: 2 })).toThrow(TypeError);
  expect(() => Object.assign(sealed?.[0] ?? {}, { a: 2 })).toThrow(TypeError);
  list.push({ a: 2 });
  expect(event.customMetadata).toEqual({ list: [{ a: 1 }] });
  expect(() => Object.assign(event.actions.stateDelta, { a: 1 })).toThrow(TypeError);
});

test('sealing keeps what an event says, and its structured output as it is', () => {
  const output = { when: new Map([['a', 1]]) };
  const event = { ...eventWith({ nothing: null, missing: undefined, n: 1.5 }), [STRUCTURED_OUTPUT]: output };
  const sealed = sealEvent(event);
  expect(sealed.customMetadata).toEqual({ nothing: null, n: 1.5 });
  expect(getStructuredOutput(sealed)).toBe(output);
  expect([Object.isFrozen(output), Object.isFrozen(event), Object.isFrozen(event.actions)]).toEqual([
    false,
    false,
    false,
  ]);
});

test('sealing makes -0 to 0, which is all that JSON can say', () => {
  expect(sealEvent(eventWith({ list: [-0] })).customMetadata).toEqual({ list: [0] });
});

describe('what is not JSON', () => {
  const cycle: Record<string, unknown> = {};
  cycle['itself'] = cycle;
  test.each([
    ['a map', new Map(), 'event.customMetadata.value: is a Map'],
    ['a date', new Date(0), 'event.customMetadata.value: is a Date'],
    ['a function', () => 1, 'event.customMetadata.value: is a function'],
    ['a bigint', 1n, 'event.customMetadata.value: is a bigint'],
    ['NaN', Number.NaN, 'event.customMetadata.value: is NaN'],
    ['a bad item of a list', [1, Infinity], 'event.customMetadata.value[1]: is Infinity'],
    ['a cycle', cycle, 'is nested deeper than 200 levels'],
  ])('is refused with its path: %s', (_, value, message) => {
    expect(() => sealEvent(eventWith({ value }))).toThrow(InvalidEventError);
    expect(() => sealEvent(eventWith({ value }))).toThrow(message);
  });
});

test('what is frozen on the outside only is copied and checked like anything else', () => {
  const part = { text: 'fine' };
  const content = Object.freeze({ role: 'model', parts: Object.freeze([part]) as never });
  const sealed = sealEvent(createEvent({ id: '1', content }));
  part.text = 'changed';
  expect(sealed.content?.parts).toEqual([{ text: 'fine' }]);
  expect(() => sealEvent(eventWith(Object.freeze({ at: new Date(0) })))).toThrow(InvalidEventError);
});

describe('what is no event by its type', () => {
  const whole = createEvent({ id: '1', invocationId: 'e-1', author: 'bot', timestamp: 1 });
  const withActions = (actions: object): object => ({ actions: { ...whole.actions, ...actions } });

  /** The path at fault in an event with this change; undefined when there is none. */
  function faultPathOf(change: unknown): string | undefined {
    const isChange = typeof change === 'object' && change !== null && !Array.isArray(change);
    try {
      sealEvent((isChange ? { ...whole, ...change } : change) as Event);
      return undefined;
    } catch (error) {
      if (InvalidEventError.isInstance(error)) return error.path;
      throw error;
    }
  }

  test.each([
    ['event', null],
    ['event', 'text'],
    ['event', []],
    ['event.id', { id: undefined }],
    ['event.invocationId', { invocationId: null }],
    ['event.author', { author: 5 }],
    ['event.timestamp', { timestamp: '2026-01-02T03:04:05Z' }],
    ['event.timestamp', { timestamp: Number.NaN }],
    ['event.timestamp', { timestamp: 253_402_300_800 }],
    ['event.timestamp', { timestamp: -62_135_596_801 }],
    ['event.actions', { actions: undefined }],
    ['event.actions.stateDelta', { actions: { artifactDelta: {} } }],
    ['event.actions.artifactDelta.a.txt', withActions({ artifactDelta: { 'a.txt': 2 ** 60 } })],
    ['event.actions.removedState[1]', withActions({ removedState: ['a', null] })],
    ['event.actions.compaction.endTimestamp', withActions({ compaction: { startTimestamp: 1, compactedContent: {} } })],
    ['event.actions.requestedAuthConfigs.c', withActions({ requestedAuthConfigs: { c: null } })],
    ['event.branch', { branch: 5 }],
    ['event.longRunningToolIds', { longRunningToolIds: 5 }],
    ['event.content.parts[0]', { content: { parts: [null] } }],
    ['event.content.parts[1].functionCall.args', { content: { parts: [{}, { functionCall: { args: [] } }] } }],
    ['event.alternatives[0].index', { alternatives: [{}] }],
    ['event.usageMetadata', { usageMetadata: [] }],
    ['event.customMetadata.0', { customMetadata: { 0: 1n } }],
  ])('is refused with the path %s', (path, change) => {
    expect(faultPathOf(change)).toBe(path);
  });

  test('is not what has odd keys, or what nobody knows', () => {
    const odd = JSON.parse(
      '{"__proto__": 1, "constructor": {"a": null}, "toString": [null], "someday": {"a": null}}',
    ) as object;
    for (const change of [odd, { content: odd }, { content: { parts: [odd] } }, withActions(odd)]) {
      expect(faultPathOf(change)).toBeUndefined();
      expect(sealEvent({ ...whole, ...change })).toEqual({ ...whole, ...change });
    }
  });

  test('is not a known field that is null: it is left out, but not where null is a value', () => {
    const confirmation = { hint: null, payload: null };
    const actions = { compaction: null, stateDelta: { a: null }, requestedToolConfirmations: { c: confirmation } };
    const event = { ...whole, ...withActions(actions), branch: null, content: { role: null, parts: [{ text: null }] } };
    expect(sealEvent(event as unknown as Event)).toEqual({
      ...whole,
      ...withActions({ stateDelta: { a: null }, requestedToolConfirmations: { c: { payload: null } } }),
      content: { parts: [{}] },
    });
  });

  test('is not looked for among bytes, unless asked', () => {
    const bytes = (data: string): Event => ({ ...whole, content: { parts: [{ inlineData: { data } }] } });
    expect(() => sealEvent(bytes('not base64!'))).not.toThrow();
    expect(() => sealEvent(bytes('not base64!'), { checkBytes: true })).toThrow(InvalidEventError);
    expect(() => sealEvent(bytes('AA-_'), { checkBytes: true })).not.toThrow();
    expect(() => sealEvent({ ...whole, content: { parts: [{ inlineData: { data: 5 as never } }] } })).toThrow(
      InvalidEventError,
    );
  });
});
