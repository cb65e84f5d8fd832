import { seededRandom } from '../../packages/testing/src/seeded-random.ts';

/** Random numbers that are the same for the same seed, in every process. */
export interface SeededRandom {
  /** Returns a number of at least 0 and below 1. */
  next(): number;
  /** Returns an integer of at least `from` and at most `to`. */
  between(from: number, to: number): number;
  /** Returns one of the items, which must not be empty. */
  pick<T>(items: readonly T[]): T;
}

/** Creates the random numbers of a seed. */
export function createSeededRandom(seed: number): SeededRandom {
  const next = seededRandom(seed);
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick(items) {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new RangeError('there is nothing to pick from');
      return item;
    },
  };
}
