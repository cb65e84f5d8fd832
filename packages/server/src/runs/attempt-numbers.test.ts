import { expect, test } from 'vitest';
import { firstSeqOfAttempt, NUMBERS_PER_ATTEMPT, seqInAttempt } from './attempt-numbers.ts';

const NOW = Date.UTC(2026, 0, 1);

test('an attempt has higher numbers than those before it, also in the same second and when the clock goes back', () => {
  const first = firstSeqOfAttempt(NOW);
  expect(first).toBeGreaterThan(NUMBERS_PER_ATTEMPT);
  expect(firstSeqOfAttempt(NOW, first + 10)).toBeGreaterThan(first + 10);
  expect(firstSeqOfAttempt(NOW - 5000, first + 10)).toBeGreaterThan(first + 10);
  expect(firstSeqOfAttempt(NOW + 1000)).toBe(first + NUMBERS_PER_ATTEMPT);
});

test('its numbers are exact, for some time to come', () => {
  expect(Number.isSafeInteger(firstSeqOfAttempt(Date.UTC(2200, 0, 1)) + NUMBERS_PER_ATTEMPT)).toBe(true);
});

test('who has numbers of an earlier attempt, or none, reads an attempt from its begin; others go on where they are', () => {
  const first = firstSeqOfAttempt(NOW);
  expect([seqInAttempt(0, first), seqInAttempt(7, first)]).toEqual([first - 1, first - 1]);
  expect(seqInAttempt(first + 3, first)).toBe(first + 3);
  // What is not kept any more is not skipped.
  expect(seqInAttempt(0, first + 3)).toBe(first - 1);
  expect(seqInAttempt(0, 4)).toBe(0);
});
