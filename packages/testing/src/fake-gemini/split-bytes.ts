import { seededRandom } from '../seeded-random.ts';

/**
 * Sizes of the pieces into which bytes are split: a list that is used repeatedly, or a seed for random sizes of 1 to `max` (default 16). A
 * piece may end inside a character or inside `\r\n`.
 */
export type ByteSplit = readonly number[] | { readonly seed: number; readonly max?: number };

/** Splits bytes into pieces. Equal arguments give equal pieces. */
export function splitBytes(bytes: Uint8Array, split: ByteSplit): Uint8Array[] {
  const sizes = isSizes(split) ? cycle(split) : randomSizes(split);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += pieces.at(-1)?.length ?? 0) {
    pieces.push(bytes.subarray(at, at + Math.max(1, sizes.next().value)));
  }
  return pieces;
}

function isSizes(split: ByteSplit): split is readonly number[] {
  return Array.isArray(split);
}

function* cycle(sizes: readonly number[]): Generator<number, never> {
  for (;;) yield* sizes.length > 0 ? sizes : [Number.POSITIVE_INFINITY];
}

/** Yields random sizes, which are the same on every runtime. */
function* randomSizes({ seed, max = 16 }: { readonly seed: number; readonly max?: number }): Generator<number, never> {
  const random = seededRandom(seed);
  for (;;) yield 1 + (Math.floor(random() * 2 ** 32) % max);
}
