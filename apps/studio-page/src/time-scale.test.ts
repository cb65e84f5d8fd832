import { expect, test } from 'vitest';
import { createTimeScale } from './time-scale.ts';

const rounded = (values: readonly number[]): number[] => values.map((value) => Math.round(value));

test('the scale gives waits a short part of the axis, and the work between them the rest', () => {
  const { at, waits, workedSeconds, waitedSeconds } = createTimeScale({ start: 100, end: 164 }, [
    { start: 162, end: 163 },
    { start: 100, end: 102 },
    { start: 101, end: 101.5 },
    { start: 163, end: 164 },
  ]);
  expect([workedSeconds, waitedSeconds]).toEqual([4, 60]);
  expect(rounded([100, 102, 132, 162, 163, 164].map(at))).toEqual([0, 48, 50, 52, 76, 100]);
  expect(waits.map(({ position, width }) => rounded([position, width]))).toEqual([[48, 4]]);
});

test.each([
  [
    'short pauses',
    [
      { start: 100, end: 101 },
      { start: 101.2, end: 110 },
    ],
  ],
  [
    'pauses that are a small share of the work',
    [
      { start: 100, end: 109 },
      { start: 109.4, end: 110 },
    ],
  ],
  ['no known work', []],
])('%s are drawn as they are', (_name, work) => {
  const { at, waits, waitedSeconds } = createTimeScale({ start: 100, end: 110 }, work);
  expect([waits, waitedSeconds]).toEqual([[], 0]);
  expect(rounded([100, 105, 110].map(at))).toEqual([0, 50, 100]);
});

test('a run without a length has positions', () => {
  expect(createTimeScale({ start: 100, end: 100 }, []).at(100)).toBe(0);
});
