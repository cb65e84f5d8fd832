/** What a generator function returns, async or not. */
export type Chunks = AsyncGenerator<unknown, unknown, void> | Generator<unknown, unknown, void>;

/** True for what a generator function returns. */
export function isGenerator(value: unknown): value is Chunks {
  if (typeof value !== 'object' || value === null || !('next' in value) || typeof value.next !== 'function')
    return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}
