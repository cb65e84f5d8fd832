import { ConfigurationError, isRecord } from '@eventloom/core';

/** @throws ConfigurationError for options that are no object, and for one that is not among the known */
export function checkOptions(owner: string, options: unknown, known: ReadonlySet<string>): void {
  if (!isRecord(options)) throw new ConfigurationError(`${owner}: takes its options as an object`);
  for (const option in options) {
    if (!known.has(option))
      throw new ConfigurationError(`${owner}: has no option "${option}"; it has ${[...known].join(', ')}`);
  }
}
