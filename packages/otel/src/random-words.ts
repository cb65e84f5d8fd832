import { wordAt } from './hex.ts';

/**
 * Random words of 32 bits for the ids of spans, by xoshiro128**: https://prng.di.unimi.it. Begins at a random UUID, so that programs have
 * different ones. A UUID for each trace, as text, would cost more than writing its span. Not for secrets.
 */
export class RandomWords {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(uuid: string) {
    const digits = uuid.replaceAll('-', '');
    this.#a = wordAt(digits, 0);
    this.#b = wordAt(digits, 8);
    this.#c = wordAt(digits, 16);
    // The state must not be all zeros.
    this.#d = wordAt(digits, 24) || 1;
  }

  /** Returns a signed number of 32 bits: engines keep those without an object. */
  next(): number {
    const scrambled = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9);
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotate(this.#d, 11);
    return scrambled | 0;
  }
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}
