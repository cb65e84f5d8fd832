import { describe, expect, test } from 'vitest';
import { InvalidEventError } from '../errors/invalid-event-error.ts';
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
    ['a cycle', cycle, 'is nested too deep'],
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
