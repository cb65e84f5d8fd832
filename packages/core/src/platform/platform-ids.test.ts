import { describe, expect, test } from 'vitest';
import { newInvocationId, systemPlatform, uuidV4, uuidV7 } from './platform.ts';

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MANY = 20_000;

/** Counts each hexadecimal digit at each position. */
function countDigits(ids: readonly string[]): Map<string, number>[] {
  return Array.from({ length: 36 }, (_, place) => {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id.charAt(place), (counts.get(id.charAt(place)) ?? 0) + 1);
    return counts;
  });
}

describe('uuidV7', () => {
  // The times come in this order in one process, so that the values that are kept between calls are tested as well.
  test.each([0, 1, 1_763_705_520_123, 1_763_705_520_123.75, 1_763_705_520_124, 0, 253_402_300_799_999])(
    'has the shape of a version 7 and begins with the time %d',
    (timeMs) => {
      const id = uuidV7(timeMs);
      expect(id).toMatch(V7);
      expect(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toBe(Math.floor(timeMs));
    },
  );

  test('sorts by time', () => {
    const times = Array.from({ length: 1000 }, (_, at) => 1_763_705_520_000 + at * 37);
    const ids = times.map(uuidV7);
    expect(ids.toSorted()).toEqual(ids);
  });

  test('is unique within a millisecond', () => {
    expect(new Set(Array.from({ length: MANY }, () => uuidV7(1_763_705_520_123))).size).toBe(MANY);
  });

  test('has random digits after the time', () => {
    const counts = countDigits(Array.from({ length: MANY }, () => uuidV7(1_763_705_520_123)));
    for (let place = 15; place < 36; place++) {
      const digits = [19].includes(place) ? 4 : 16;
      if (place === 18 || place === 23) continue;
      expect(counts[place]?.size).toBe(digits);
      for (const count of counts[place]?.values() ?? []) expect(count * digits).toBeGreaterThan(MANY * 0.7);
    }
  });
});

describe('newInvocationId', () => {
  test('sorts by time, so that a database keeps the records of new runs together', () => {
    let nowMs = 1_763_705_520_000;
    const platform = { ...systemPlatform, newEventId: () => uuidV7((nowMs += 37)) };
    const ids = Array.from({ length: 100 }, () => newInvocationId(platform));
    expect(ids.toSorted()).toEqual(ids);
    expect(ids[0]?.slice(0, 2)).toBe('e-');
    expect(ids[0]?.slice(2)).toMatch(V7);
  });
});

describe('uuidV4', () => {
  test('has the shape of a version 4', () => {
    for (let at = 0; at < 1000; at++) expect(uuidV4()).toMatch(V4);
  });

  test('returns no value twice', () => {
    expect(new Set(Array.from({ length: MANY }, uuidV4)).size).toBe(MANY);
  });

  test('is random in every digit except the version and the variant', () => {
    const counts = countDigits(Array.from({ length: MANY }, uuidV4));
    for (let place = 0; place < 36; place++) {
      if ([8, 13, 14, 18, 23].includes(place)) continue;
      expect(counts[place]?.size).toBe(place === 19 ? 4 : 16);
    }
  });
});

describe.each([
  ['uuidV7', () => uuidV7(5), 15],
  ['uuidV4', uuidV4, 0],
])('the random digits of %s', (_name, newId, firstRandom) => {
  test('are independent of each other and of those of the previous id', () => {
    const ids = Array.from({ length: 500 }, () => newId());
    for (let place = firstRandom; place < 36; place++) {
      if ([8, 13, 14, 18, 19, 23].includes(place)) continue;
      for (let other = firstRandom; other < 36; other++) {
        if ([8, 13, 14, 18, 19, 23].includes(other)) continue;
        const digits = ids.map((id) => id.charAt(place));
        const same = ids.filter((id, at) => id.charAt(other) === digits[at]).length;
        const before = ids.filter((id, at) => at > 0 && id.charAt(other) === digits[at - 1]).length;
        // One in sixteen by chance.
        if (other !== place) expect(same).toBeLessThan(100);
        expect(before).toBeLessThan(100);
      }
    }
  });
});

test('alternating ids of both versions share no random bits', () => {
  const seen = new Set<string>();
  for (let at = 0; at < MANY; at++) {
    seen.add((at % 2 === 0 ? uuidV7(5) : uuidV4()).slice(-12));
  }
  expect(seen.size).toBe(MANY);
});
