import { describeKind, getOwn, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';

/**
 * The option names of `T`, as an object. The compiler refuses a missing name and a name that `T` does not have:
 *
 *     const OPTIONS: OptionNames<RetryConfig> = { maxAttempts: true, retryOn: true };
 */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true };

/**
 * Checks the names of given options.
 * @param owner starts the message of the error, e.g. `agent "helper"`
 * @throws ConfigurationError for an option that is not in `known`
 */
export function checkKnown(owner: string, known: Readonly<Record<string, true>>, given: object): void {
  for (const name in given) {
    if (Object.hasOwn(known, name)) continue;
    const all = Object.keys(known);
    // Suggests the names that begin alike, else all of them.
    const [meant = all.join(', ')] = all.filter((option) => name.startsWith(option) || option.startsWith(name));
    throw new ConfigurationError(`${owner}: has no option "${name}"; it has ${meant}`);
  }
}

/** Returns a description of the valid values (`a boolean`) for an invalid value, and undefined for a valid one. */
type Check = (value: unknown) => string | undefined;

/** A check for each option of `T`. */
export type Checks<T> = { readonly [K in keyof Required<T>]: Check };

export function oneOf(...allowed: string[]): Check {
  return (value) => (allowed.includes(value as string) ? undefined : `one of ${allowed.join(', ')}`);
}

export function integer(minimum: number, maximum = Infinity): Check {
  const most = maximum < Infinity ? ` and at most ${maximum}` : '';
  const wanted = minimum >= 0 ? `an integer of at least ${minimum}${most}` : 'an integer';
  return (value) =>
    Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum ? undefined : wanted;
}

export function ofType(type: 'boolean' | 'string'): Check {
  return (value) => (typeof value === type ? undefined : `a ${type}`);
}

export function number(value: unknown): string | undefined {
  return Number.isFinite(value) ? undefined : 'a number';
}

export function record(value: unknown): string | undefined {
  return isRecord(value) ? undefined : 'an object';
}

/**
 * Checks the names and values of given options; undefined values pass.
 * @param path names the options in messages
 * @throws ConfigurationError for an unknown option, and for an invalid value
 */
export function checkOptions(path: string, checks: Readonly<Record<string, Check>>, options: object): void {
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = getOwn(checks, key);
    if (!check) {
      const known = Object.keys(checks).join(', ');
      throw new ConfigurationError(`${path}.${key}: this version has no such option; it has ${known}`);
    }
    const wanted = check(value);
    if (wanted !== undefined) {
      const given = typeof value === 'string' ? JSON.stringify(value) : describeKind(value);
      throw new ConfigurationError(`${path}.${key}: must be ${wanted}, is ${given}`);
    }
  }
}
