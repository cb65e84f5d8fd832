import { describe, expect, test } from 'vitest';
import { InvalidEventError } from '../errors/invalid-event-error.ts';
import { createEvent } from './create-event.ts';
import { type Event, STRUCTURED_OUTPUT } from './event.ts';
import { sealEvent } from './seal-event.ts';

function eventWith(customMetadata: Record<string, unknown>): Event {
  return createEvent({ id: '1', author: 'bot', content: { role: 'model', parts: [{ text: 'hi' }] }, customMetadata });
}

test('a sealed event cannot be written to at any depth', () => {
  const list = [{ a: 1 }];
  const event = sealEvent(eventWith({ list }));
  expect(() => Object.assign(event, { author: 'other' })).toThrow(TypeError);
  expect(() => Object.assign(event.content?.parts?.[0] ?? {}, { text: 'other' })).toThrow(TypeError);
  expect(() => list.push({ a: 2 })).toThrow(TypeError);
  expect(() => Object.assign(list[0] ?? {}, { a: 2 })).toThrow(TypeError);
  expect(() => Object.assign(event.actions.stateDelta, { a: 1 })).toThrow(TypeError);
});

test('sealing keeps what an event says, and its structured output as it is', () => {
  const output = { when: new Map([['a', 1]]) };
  const event = { ...eventWith({ nothing: null, missing: undefined, n: 1.5 }), [STRUCTURED_OUTPUT]: output };
  expect(sealEvent(event)).toBe(event);
  expect(event.customMetadata).toEqual({ nothing: null, n: 1.5 });
  output.when.set('b', 2);
  expect(Object.isFrozen(output)).toBe(false);
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
    ['a cycle', cycle, 'is nested too deep'],
  ])('is refused with its path: %s', (_, value, message) => {
    expect(() => sealEvent(eventWith({ value }))).toThrow(InvalidEventError);
    expect(() => sealEvent(eventWith({ value }))).toThrow(message);
  });
});
