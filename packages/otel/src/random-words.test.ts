import { expect, test } from 'vitest';
import { RandomWords } from './random-words.ts';

test('words are those of the reference implementation of xoshiro128**', () => {
  const random = new RandomWords('00000001-0000-0002-0000-000300000004');
  expect(Array.from({ length: 6 }, () => random.next())).toEqual([11520, 0, 5927040, 70819200, 2031721883, 1637235492]);
});

test('the digits of the begin may be all zeros, and each bit of the words is set about as often as not', () => {
  const random = new RandomWords('00000000-0000-0000-0000-000000000000');
  const counts = Array.from({ length: 32 }, () => 0);
  const words = new Set<number>();
  for (let index = 0; index < 20_000; index++) {
    const word = random.next();
    words.add(word);
    for (let bit = 0; bit < 32; bit++) counts[bit] = (counts[bit] ?? 0) + ((word >>> bit) & 1);
  }
  expect(words.size).toBeGreaterThan(19_900);
  expect(Math.min(...counts)).toBeGreaterThan(9_500);
  expect(Math.max(...counts)).toBeLessThan(10_500);
});
