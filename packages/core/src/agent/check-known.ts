import { ConfigurationError } from '../errors.ts';

/** @param owner whom the options are given to, in the message @throws ConfigurationError for an option that this version does not have */
export function checkKnown(owner: string, known: ReadonlySet<string>, given: object): void {
  for (const name in given) {
    if (known.has(name)) continue;
    const all = [...known];
    // Those that begin alike are most likely meant.
    const [meant = all.join(', ')] = all.filter((option) => name.startsWith(option) || option.startsWith(name));
    throw new ConfigurationError(`${owner}: has no option ${name}; it has ${meant}`);
  }
}
