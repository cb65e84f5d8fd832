import { ConfigurationError } from '@eventloom/core';
import { checkKnown, isRecord } from '@eventloom/core/internal';

/** @throws ConfigurationError for options that are not an object, and for an option that is not in `known` */
export function checkOptions(owner: string, options: unknown, known: Readonly<Record<string, true>>): void {
  if (!isRecord(options)) throw new ConfigurationError(`${owner}: takes its options as an object`);
  checkKnown(owner, known, options);
}
