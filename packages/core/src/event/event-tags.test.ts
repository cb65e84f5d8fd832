import { describe, expect, test } from 'vitest';
import { createEvent } from './create-event.ts';
import type { Event } from './event.ts';
import { hasTag, withTag } from './event-tags.ts';

function tagged(...tags: string[]): Event {
  return tags.length > 0 ? createEvent({ tags }) : createEvent();
}

describe('withTag', () => {
  test('returns a new event with the tag after the existing ones', () => {
    const event = tagged('transfer');
    expect(withTag(event, 'mine').tags).toEqual(['transfer', 'mine']);
    expect(event.tags).toEqual(['transfer']);
    expect(withTag(tagged(), 'first').tags).toEqual(['first']);
  });

  test('trims, splits at semicolons and leaves empty ones out', () => {
    expect(withTag(tagged('a'), ' b ; ;c;').tags).toEqual(['a', 'b', 'c']);
  });

  test('returns the same event if it has the tag already or the tag is empty', () => {
    const event = tagged('a', 'b');
    expect(withTag(event, 'b')).toBe(event);
    expect(withTag(event, ' a;b')).toBe(event);
    expect(withTag(event, ' ; ')).toBe(event);
    expect(withTag(tagged(), '')).not.toHaveProperty('tags');
  });

  test('adds a tag to a list with duplicates', () => {
    expect(withTag(tagged('a', 'a'), 'b').tags).toEqual(['a', 'b']);
  });
});

describe('hasTag', () => {
  test('finds a whole tag, trimmed', () => {
    expect(hasTag(tagged('transfer', 'mine'), ' mine ')).toBe(true);
    expect(hasTag(tagged('transfer'), 'trans')).toBe(false);
    expect(hasTag(tagged(), 'transfer')).toBe(false);
  });
});
