import { ConfigurationError } from '../errors/configuration-error.ts';

/** @param owner whom the options are given to, in the message @throws ConfigurationError for an option that this version does not have */
export function checkKnown(owner: string, known: ReadonlySet<string>, given: object): void {
  for (const name in given) {
    if (known.has(name)) continue;
    throw new ConfigurationError(`${owner}: ${name} is not supported by this version; it has ${[...known].join(', ')}`);
  }
}
