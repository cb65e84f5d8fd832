import { ConfigurationError } from '@eventloom/core';

/** How much of memory a model gets to read. */
export interface MemoryToolOptions {
  /** At most so many memories; default 10. */
  readonly limit?: number;
  /** At most so many characters of all of them together; default 20,000. What is over is cut. */
  readonly maxCharacters?: number;
}

/** @throws ConfigurationError for a number that is no positive integer */
export function memoryToolOptions({
  limit = 10,
  maxCharacters = 20_000,
}: MemoryToolOptions): Required<MemoryToolOptions> {
  for (const [name, value] of Object.entries({ limit, maxCharacters })) {
    if (!Number.isInteger(value) || value < 1) throw new ConfigurationError(`${name}: must be a positive integer`);
  }
  return { limit, maxCharacters };
}
