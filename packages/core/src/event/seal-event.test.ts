import { describe, expect, test } from 'vitest';
import { InvalidEventError } from '../errors.ts';
import { createEvent } from './create-event.ts';
import { type Event, getStructuredOutput, STRUCTURED_OUTPUT } from './event.ts';
import { copyJson, sealJson } from '../content/copy-json.ts';
import type { Content } from '../content/content.ts';
import { sealContent, sealEvent } from './seal-event.ts';

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

test('sealing keeps all fields, and the structured output by identity', () => {
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

test('sealing turns -0 into 0, as JSON does', () => {
  expect(sealEvent(eventWith({ list: [-0] })).customMetadata).toEqual({ list: [0] });
});

describe('a value that is not JSON', () => {
  const cycle: Record<string, unknown> = {};
  cycle['itself'] = cycle;
  test.each([
    ['a map', new Map(), 'event.customMetadata.value: is an object of the class Map'],
    ['a promise', Promise.resolve(1), 'event.customMetadata.value: is a promise'],
    ['a function', () => 1, 'event.customMetadata.value: is a function'],
    ['a bigint', 1n, 'event.customMetadata.value: is a bigint'],
    ['NaN', Number.NaN, 'event.customMetadata.value: is NaN'],
    ['a bad item of a list', [1, Infinity], 'event.customMetadata.value[1]: is Infinity'],
    ['a cycle', cycle, `event.customMetadata.value${'.itself'.repeat(10)}.…: is nested deeper than 200 levels`],
  ])('is refused with its path: %s', (_, value, message) => {
    expect(() => sealEvent(eventWith({ value }))).toThrow(InvalidEventError);
    expect(() => sealEvent(eventWith({ value }))).toThrow(message);
  });
});

test('sealEvent copies instances of classes as their JSON, in any place', () => {
  class Answer {
    readonly id = 'c';
    readonly name = 'f';
    readonly response = { at: new Date(0) };
  }
  class Said {
    readonly role = 'user';
    readonly parts = [{ functionResponse: new Answer() }];
  }
  const sealed = sealEvent({ ...eventWith({ page: new URL('https://example.com/') }), content: new Said() });
  const functionResponse = { id: 'c', name: 'f', response: { at: '1970-01-01T00:00:00.000Z' } };
  expect(sealed.content).toStrictEqual({ role: 'user', parts: [{ functionResponse }] });
  expect(sealed.customMetadata).toEqual({ page: 'https://example.com/' });
  expect(isDeeplyFrozen(sealed)).toBe(true);
  const responding = { parts: [{ functionResponse: { id: 'c', response: new Date(0) } }] };
  expect(() => sealEvent({ ...eventWith({}), content: responding as never })).toThrow(
    'event.content.parts[0].functionResponse.response: expected an object, got a string',
  );
});

test('sealEvent copies and checks an object that is frozen only on the outside', () => {
  const part = { text: 'fine' };
  const content = Object.freeze({ role: 'model', parts: Object.freeze([part]) as never });
  const sealed = sealEvent(createEvent({ id: '1', content }));
  part.text = 'changed';
  expect(sealed.content?.parts).toEqual([{ text: 'fine' }]);
  expect(() => sealEvent(eventWith(Object.freeze({ at: new Map() })))).toThrow(InvalidEventError);
});

describe('the type check of sealEvent', () => {
  const whole = createEvent({ id: '1', invocationId: 'e-1', author: 'bot', timestamp: 1 });
  const withActions = (actions: object): object => ({ actions: { ...whole.actions, ...actions } });

  /** Returns the path of the error for an event with this change; undefined without one. */
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

  test('accepts unusual and unknown keys', () => {
    const odd = JSON.parse(
      '{"__proto__": 1, "constructor": {"a": null}, "toString": [null], "someday": {"a": null}}',
    ) as object;
    for (const change of [odd, { content: odd }, { content: { parts: [odd] } }, withActions(odd)]) {
      expect(faultPathOf(change)).toBeUndefined();
      expect(sealEvent({ ...whole, ...change })).toEqual({ ...whole, ...change });
    }
  });

  test('leaves out a known field that is null, except where null is a value', () => {
    const confirmation = { hint: null, payload: null };
    const actions = { compaction: null, stateDelta: { a: null }, requestedToolConfirmations: { c: confirmation } };
    const event = { ...whole, ...withActions(actions), branch: null, content: { role: null, parts: [{ text: null }] } };
    expect(sealEvent(event as unknown as Event)).toEqual({
      ...whole,
      ...withActions({ stateDelta: { a: null }, requestedToolConfirmations: { c: { payload: null } } }),
      content: { parts: [{}] },
    });
  });

  test('accepts usage counts of any type', () => {
    const usageMetadata = { promptTokenCount: 1.5, timingInfo: { timeToFirstTokenMs: 'soon' as never } };
    expect(sealEvent({ ...whole, usageMetadata }).usageMetadata).toEqual(usageMetadata);
  });

  test('checks bytes only with checkBytes', () => {
    const bytes = (data: string): Event => ({ ...whole, content: { parts: [{ inlineData: { data } }] } });
    expect(() => sealEvent(bytes('not base64!'))).not.toThrow();
    expect(() => sealEvent(bytes('not base64!'), { checkBytes: true })).toThrow(InvalidEventError);
    expect(() => sealEvent(bytes('AA-_'), { checkBytes: true })).not.toThrow();
    expect(() => sealEvent({ ...whole, content: { parts: [{ inlineData: { data: 5 as never } }] } })).toThrow(
      InvalidEventError,
    );
  });
});

describe('the fast path seals common events like the full check of all fields', () => {
  const base = { id: '1', invocationId: 'e-1', author: 'bot', timestamp: 1.5, executionId: 'e-1' };
  const args = { city: 'Paris', days: [1, { n: null }] };
  const EVENTS: Readonly<Record<string, Event>> = {
    text: createEvent({ ...base, content: { role: 'model', parts: [{ text: 'hi' }, { text: 'ho', thought: true }] } }),
    call: createEvent({ ...base, content: { role: 'model', parts: [{ functionCall: { id: 'c', name: 'f', args } }] } }),
    response: createEvent({
      ...base,
      content: { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: args } }] },
      turnComplete: true,
      usageMetadata: { promptTokenCount: 3 },
      tags: ['a'],
    }),
    nothing: createEvent({ ...base, branch: 'a.b' }),
    actions: createEvent({ ...base, actions: { stateDelta: { a: 1 }, escalate: true } }),
  };
  class Own {
    readonly text = 'x';
  }
  const inherited: unknown = Object.create({ text: 'x' });
  const ODD = [
    null,
    undefined,
    '',
    'x',
    0,
    -0,
    Number.NaN,
    true,
    5,
    1e15,
    [],
    ['x'],
    [null],
    {},
    { text: 'x' },
    new Map(),
  ];
  const MORE = [new Own(), inherited, Object.assign(Object.create(null), { text: 'x' }), JSON.parse('{"__proto__":1}')];

  /** Returns variants of the value in which each member in turn is replaced by `odd`, or `odd` is added. */
  function* variantsOf(value: unknown, odd: unknown): Generator<unknown> {
    yield odd;
    if (Array.isArray(value)) {
      for (const [at, item] of value.entries())
        for (const variant of variantsOf(item, odd)) yield value.with(at, variant);
    } else if (typeof value === 'object' && value !== null) {
      yield { ...value, someday: odd };
      for (const [key, item] of Object.entries(value)) {
        for (const variant of variantsOf(item, odd)) yield { ...value, [key]: variant };
      }
    }
  }

  function outcome(seal: () => Event): unknown {
    try {
      const sealed = seal();
      return { sealed, isFrozen: isDeeplyFrozen(sealed) };
    } catch (error) {
      return { refused: String(error) };
    }
  }

  test.each(Object.entries(EVENTS))('%s, with any invalid value in any place', (_, event) => {
    let count = 0;
    for (const odd of [...ODD, ...MORE]) {
      for (const variant of variantsOf(event, odd)) {
        const usual = outcome(() => sealEvent(variant as Event));
        // With bytes to check the walk is always taken.
        expect(usual).toStrictEqual(outcome(() => sealEvent(variant as Event, { checkBytes: true })));
        if (typeof usual === 'object' && usual && 'isFrozen' in usual) expect(usual.isFrozen).toBe(true);
        count++;
      }
    }
    expect(count).toBeGreaterThan(200);
  });

  test('the message of a fault does not contain parts of an earlier one', () => {
    const at = (response: object): Event => ({
      ...createEvent({ ...base }),
      content: { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: { ...response } } }] },
    });
    for (let left = 2; left > 0; left--) {
      expect(() => sealEvent(at({ a: { b: 1n } }))).toThrow(
        'event.content.parts[0].functionResponse.response.a.b: is a bigint',
      );
    }
  });
});

describe('a value that is sealed already', () => {
  const content: Content = { role: 'user', parts: [{ text: 'hi' }] };
  const eventOf = (said: Content): Event => createEvent({ id: '1', author: 'user', content: said });

  test('is shared between events without another copy', () => {
    const sealed = sealContent(content);
    expect(sealed).toEqual(content);
    expect(isDeeplyFrozen(sealed)).toBe(true);
    expect(sealEvent(eventOf(sealed)).content).toBe(sealed);
    const copied = sealJson({ list: [{ n: 1 }], empty: {} });
    const response = 'value' in copied ? (copied.value as Record<string, unknown>) : {};
    expect(isDeeplyFrozen(response)).toBe(true);
    const parts = [{ functionResponse: { id: 'c', name: 'f', response } }];
    expect(sealEvent(eventOf({ role: 'user', parts })).content?.parts?.[0]?.functionResponse?.response).toBe(response);
    const unusual = eventOf({ parts: [...parts, { text: 'x' }] });
    expect(sealEvent(unusual).content?.parts?.[0]?.functionResponse?.response).toBe(response);
    expect(sealEvent({ ...unusual, customMetadata: response }).customMetadata).toBe(response);
  });

  test('is copied and checked if it was sealed as another type', () => {
    const copied = sealJson({ role: 'user', parts: 'hi' });
    const notContent = 'value' in copied ? copied.value : undefined;
    expect(() => sealEvent(eventOf(notContent as never))).toThrow('event.content.parts: expected a list, got a string');
    const bytes = sealContent({ role: 'user', parts: [{ inlineData: { data: 'not base64!' } }] });
    expect(() => sealEvent(eventOf(bytes), { checkBytes: true })).toThrow(InvalidEventError);
  });

  test('does not include an object that the caller froze', () => {
    const part = { text: 'fine' };
    const frozen = Object.freeze({ role: 'user', parts: Object.freeze([part]) as never });
    const sealed = sealContent(frozen);
    part.text = 'changed';
    expect(sealed.parts).toEqual([{ text: 'fine' }]);
  });

  test('can be copied, and the copy can be changed', () => {
    const copied = copyJson(sealContent(content));
    expect('value' in copied && Object.isFrozen(copied.value)).toBe(false);
  });

  test('throws if it is nested too deep for an event', () => {
    let deep: unknown = 'leaf';
    for (let level = 0; level < 196; level++) deep = { below: deep };
    expect(sealJson(deep)).toMatchObject({ fault: { reason: 'is nested deeper than 200 levels (is it a cycle?)' } });
  });
});

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}
