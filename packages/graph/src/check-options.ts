import { checkKnown } from '@eventloom/core/internal';

/** @throws ConfigurationError for options that are not an object, and for an option that is not in `known` */
export function checkOptions(owner: string, options: unknown, known: Readonly<Record<string, true>>): void {
  checkKnown(owner, known, options as object);
}
