import { describeKind, getOwn, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { nearestNames } from './nearest-names.ts';

/**
 * The option names of `T`, as an object. The compiler refuses a missing name and a name that `T` does not have:
 *
 *     const OPTIONS: OptionNames<RetryConfig> = { maxAttempts: true, retryOn: true };
 */
export type OptionNames<T> = { readonly [K in keyof Required<T>]: true };

/**
 * Checks the names of given options. The message for an unknown one suggests the option that was probably meant.
 * @param owner starts the message of the error, e.g. `agent "helper"`
 * @param hints advice for option names of other libraries, by name, e.g. `write instruction`
 * @param example code for a caller that gives no options. Default: the first names of `known`
 * @throws ConfigurationError for an option that is not in `known`, and for options that are not an object
 */
export function checkKnown(
  owner: string,
  known: Readonly<Record<string, true>>,
  given: object,
  hints?: Readonly<Record<string, string>>,
  example = `{ ${Object.keys(known)
    .slice(0, 3)
    .map((name) => `${name}: …`)
    .join(', ')} }`,
): void {
  if (!isRecord(given))
    throw new ConfigurationError(
      `${owner}: expected an object of options, got ${describeKind(given)}; write ${example}`,
    );
  for (const name in given)
    if (!Object.hasOwn(known, name)) throw unknownOptionError(owner, name, Object.keys(known), hints);
}

function unknownOptionError(
  owner: string,
  name: string,
  options: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): ConfigurationError {
  const nearest = nearestNames(name, options).map((option) => `"${option}"`);
  const suggestion = nearest.length > 0 ? `did you mean ${nearest.join(' or ')}?` : `it has ${options.join(', ')}`;
  return new ConfigurationError(`${owner}: has no option "${name}"; ${getOwn(hints, name) ?? suggestion}`);
}

/**
 * Returns a description of the valid values (`a boolean`) for an invalid value, and undefined for a valid one. `choices` are the valid
 * values of an option that takes one of a few strings.
 */
interface OptionCheck {
  (value: unknown): string | undefined;
  readonly choices?: readonly string[];
}

/** Checks of the values of all options of `T`. */
export type Checks<T> = { readonly [K in keyof Required<T>]: OptionCheck };

/** Accepts only these strings. */
export function oneOf(...choices: string[]): OptionCheck {
  const check = (value: unknown) => (choices.includes(value as string) ? undefined : `one of ${choices.join(', ')}`);
  return Object.assign(check, { choices });
}

/** Accepts integers from `minimum` to `maximum`. */
export function integer(minimum: number, maximum = Infinity): OptionCheck {
  const most = maximum < Infinity ? ` and at most ${maximum}` : '';
  const wanted = minimum >= 0 ? `an integer of at least ${minimum}${most}` : 'an integer';
  return (value) =>
    Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum ? undefined : wanted;
}

/** Accepts values of this `typeof`. */
export function ofType(type: 'boolean' | 'string'): OptionCheck {
  return (value) => (typeof value === type ? undefined : `a ${type}`);
}

/** Accepts finite numbers. */
export function number(value: unknown): string | undefined {
  return Number.isFinite(value) ? undefined : 'a number';
}

/** Accepts objects that are not arrays. */
export function record(value: unknown): string | undefined {
  return isRecord(value) ? undefined : 'an object';
}

/**
 * Checks the names and values of given options; undefined values pass.
 * @param path start of the error messages, e.g. `runConfig`
 * @throws ConfigurationError for an unknown option, and for an invalid value
 */
export function checkOptions(path: string, checks: Readonly<Record<string, OptionCheck>>, options: object): void {
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = getOwn(checks, key);
    if (!check) throw unknownOptionError(path, key, Object.keys(checks));
    const wanted = check(value);
    if (wanted !== undefined) {
      const given = typeof value === 'string' ? JSON.stringify(value) : describeKind(value);
      const [meant] = typeof value === 'string' ? nearestNames(value, check.choices ?? []) : [];
      const advice = meant === undefined ? '' : `; did you mean ${JSON.stringify(meant)}?`;
      throw new ConfigurationError(`${path}.${key}: expected ${wanted}, got ${given}${advice}`);
    }
  }
}
