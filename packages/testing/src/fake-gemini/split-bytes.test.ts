import { expect, test } from 'vitest';
import { splitBytes } from './split-bytes.ts';

const bytes = new TextEncoder().encode('data: "Grüße, 世界 🌍"\r\n\r\n');

function sizesOf(pieces: readonly Uint8Array[]): number[] {
  return pieces.map((piece) => piece.length);
}

test('sizes are used in turn', () => {
  expect(sizesOf(splitBytes(bytes, [5, 1]))).toEqual([5, 1, 5, 1, 5, 1, 5, 1, 5, 1, 2]);
});

test('the same seed gives the same pieces, and another seed gives others', () => {
  expect(sizesOf(splitBytes(bytes, { seed: 1 }))).toEqual(sizesOf(splitBytes(bytes, { seed: 1 })));
  expect(sizesOf(splitBytes(bytes, { seed: 1 }))).not.toEqual(sizesOf(splitBytes(bytes, { seed: 2 })));
});

test.each([[[1]], [[0, 3]], [[]], [{ seed: 7, max: 3 }], [{ seed: 9 }]])(
  'the pieces contain all bytes: %o',
  (split) => {
    const pieces = splitBytes(bytes, split);
    expect(new Uint8Array(pieces.flatMap((piece) => [...piece]))).toEqual(bytes);
    expect(pieces.every((piece) => piece.length > 0)).toBe(true);
  },
);
