import { describeKind, getOwn, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { isMisspelt, nearestNames } from './nearest-names.ts';

/** Kinds of values, as errors name them. Lists and functions do not count as objects. */
const KINDS = {
  text: 'a string',
  flag: 'true or false',
  number: 'a number',
  function: 'a function',
  list: 'a list',
  object: 'an object',
};

/** Values to write where a rule has no example. */
const EXAMPLES: Readonly<Record<string, string>> = {
  text: "'…'",
  flag: 'true',
  number: '10',
  function: '() => { … }',
  list: '[…]',
  object: '{ … }',
};

type KindOf<V> = unknown extends V
  ? never
  : V extends string
    ? 'text'
    : V extends boolean
      ? 'flag'
      : V extends number
        ? 'number'
        : V extends readonly unknown[]
          ? 'list'
          : V extends ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)
            ? 'function'
            : 'object';

/**
 * One of the kinds, or two or three of them with `or` between. `any` is for an option that takes every value, or whose
 * value is checked elsewhere with an error of another class: a comment beside it says which. `object or function` is
 * for objects that may be callable, such as schemas of some libraries.
 */
type Kinds<K extends string> =
  | 'any'
  | K
  | `${K} or ${K}`
  | `${K} or ${K} or ${K}`
  | (K extends 'object' ? 'object or function' : never);

/** The rule for an option whose kind alone does not describe its values. */
interface OptionRule<K extends string = string> {
  readonly is: K;
  /** The valid values, if they are a few strings. */
  readonly oneOf?: readonly string[];
  readonly isInteger?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** A method that an object must have, such as one of a service. */
  readonly has?: string;
  /** Describes the valid values in errors, in place of the kind: `a session service`. */
  readonly wanted?: string;
  /** Code of a valid value, for the end of an error message. */
  readonly write?: string;
}

/**
 * The options of `T` with the kinds of their values. The compiler refuses a missing name, a name that `T` does not
 * have, and a kind that the option does not take:
 *
 *     const OPTIONS: OptionRules<NodeRetryOptions> = { maxAttempts: { is: 'number', isInteger: true, min: 1 }, retryOn: 'function' };
 */
export type OptionRules<T> = {
  readonly [K in keyof Required<T>]: Kinds<KindOf<NonNullable<T[K]>>> | OptionRule<Kinds<KindOf<NonNullable<T[K]>>>>;
};

type Rules = Readonly<Record<string, string | OptionRule>>;

/** A rule for integers from `min` to `max`. */
export function integer(min: number, max = Infinity): OptionRule<'number'> {
  return { is: 'number', isInteger: true, min, max };
}

/**
 * Checks the names and the kinds of given options; undefined values pass. The message for an unknown option suggests the one that was
 * probably meant, and the message for a wrong value says what to write.
 * @param owner starts the message of the error, e.g. `agent "helper"`
 * @param hints advice for option names of other libraries, by name, e.g. `write instruction`
 * @param example code for a caller that gives no options. Default: an object with the first option of `rules`
 * @throws ConfigurationError for options that are not an object, for an option without a rule, and for a value that does not match its rule
 */
export function checkOptions(
  owner: string,
  rules: Rules,
  given: object,
  hints?: Readonly<Record<string, string>>,
  example?: string,
): void {
  if (!isRecord(given)) throw noObjectError(owner, rules, given, example);
  for (const name in given) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) throw unknownOptionError(owner, name, Object.keys(rules), hints);
    if (!isValid(rule, given[name])) throw wrongValueError(owner, name, toRule(rule), given[name]);
  }
}

/**
 * Checks the options of a base class, whose subclasses may pass options of their own too. Checks options with a rule as
 * `checkOptions` does. Refuses another option only if it is probably misspelt: its name is one character, or the
 * notation, off an option that is not given, and its value is valid for that option. So a subclass may have an option
 * `subAgent: writer`, because `subAgents` is a list.
 * @throws ConfigurationError
 */
export function checkBaseOptions(owner: string, rules: Rules, given: object, example?: string): void {
  if (!isRecord(given)) throw noObjectError(owner, rules, given, example);
  for (const name in given) {
    const rule = getOwn(rules, name);
    if (rule === undefined) {
      for (const option in rules) {
        const isFree = given[option] === undefined && isValid(rules[option] ?? 'any', given[name]);
        if (isFree && isMisspelt(name, option)) throw unknownOptionError(owner, name, [option]);
      }
    } else if (!isValid(rule, given[name])) throw wrongValueError(owner, name, toRule(rule), given[name]);
  }
}

function noObjectError(owner: string, rules: Rules, given: unknown, example?: string): ConfigurationError {
  const [[name, rule] = ['', 'any' as const]] = Object.entries(rules);
  const code = example ?? `{ ${name}: ${exampleOf(name, toRule(rule))} }`;
  return new ConfigurationError(`${owner}: expected an object of options, got ${describeKind(given)}; write ${code}`);
}

function isValid(rule: string | OptionRule, value: unknown): boolean {
  if (value === undefined || rule === 'any') return true;
  // Most values are valid, so nothing is allocated before a check fails.
  const type = typeof value;
  const kind =
    type === 'string'
      ? 'text'
      : type === 'boolean'
        ? 'flag'
        : type === 'object'
          ? value === null
            ? 'null'
            : Array.isArray(value)
              ? 'list'
              : 'object'
          : Number.isNaN(value)
            ? 'NaN'
            : type;
  if (typeof rule !== 'object') return rule.includes(kind);
  if (!rule.is.includes(kind)) return false;
  const { oneOf, isInteger = false, min = -Infinity, max = Infinity, has } = rule;
  if (has !== undefined && kind === 'object')
    return typeof (value as Readonly<Record<string, unknown>>)[has] === 'function';
  if (oneOf) return oneOf.includes(value as string);
  return typeof value !== 'number' || (value >= min && value <= max && (!isInteger || Number.isInteger(value)));
}

/**
 * Creates the error for an assignment to a property that has no setter.
 * @param write code or advice that has the intended effect
 */
export function readOnlyError(owner: string, property: string, write: string): ConfigurationError {
  return new ConfigurationError(`${owner}: ${property} cannot be assigned; ${write}`);
}

/**
 * Checks that the driver of a service is an object with a method of its contract.
 * @param service class of the service that takes the driver
 * @param example code of a driver
 * @throws ConfigurationError
 */
export function checkDriver(service: string, driver: unknown, method: string, example: string): void {
  if (typeof driver === 'object' && driver !== null && method in driver) return;
  const lack = isRecord(driver) ? ` without ${method}` : '';
  throw new ConfigurationError(
    `${service}: expected a driver, got ${describeKind(driver)}${lack}; write new ${service}(${example})`,
  );
}

/** The rule for an `abortSignal`. It refuses an AbortController. */
export const ABORT_SIGNAL_RULE: OptionRule<'object'> = {
  is: 'object',
  has: 'addEventListener',
  wanted: 'an AbortSignal',
  write: 'controller.signal',
};

/** The rule for schemas of any kind that `ToolOptions.parameters` accepts. */
export const SCHEMA_RULE: OptionRule<'object or function'> = {
  is: 'object or function',
  wanted: 'a schema',
  write: 'z.object({ city: z.string() })',
};

/**
 * Creates the error for a value that an option, or an item of it, does not take.
 * @param wanted the valid values, e.g. `a session service`
 * @param write code of a valid value
 */
export function wrongOption(
  owner: string,
  option: string,
  wanted: string,
  value: unknown,
  write: string,
): ConfigurationError {
  const got = describeKind(value);
  const [name = option] = option.split('[', 1);
  return new ConfigurationError(`${owner}: ${option}: expected ${wanted}, got ${got}; write ${name}: ${write}`);
}

function toRule(rule: string | OptionRule): OptionRule {
  return typeof rule === 'object' ? rule : { is: rule };
}

function wrongValueError(owner: string, name: string, rule: OptionRule, value: unknown): ConfigurationError {
  // A string may be an API key, so only options with a few valid words quote it.
  const got = typeof value === 'string' && rule.oneOf ? JSON.stringify(value.slice(0, 40)) : describeKind(value);
  const [meant] = typeof value === 'string' ? nearestNames(value, rule.oneOf ?? []) : [];
  const written = meant === undefined ? undefined : `'${meant}'`;
  const write = written ?? exampleOf(name, rule);
  return new ConfigurationError(`${owner}: ${name}: expected ${describe(rule)}, got ${got}; write ${name}: ${write}`);
}

function describe({ is, oneOf, isInteger, min = -Infinity, max = Infinity, wanted }: OptionRule): string {
  if (wanted !== undefined) return wanted;
  if (oneOf) return `one of ${oneOf.join(', ')}`;
  const kinds = is.split(' or ').map((kind) => (kind === 'number' && isInteger ? 'an integer' : getOwn(KINDS, kind)));
  if (min > -Infinity && max < Infinity) return `${kinds.join(' or ')} from ${min} to ${max}`;
  const limit = min > -Infinity ? ` of at least ${min}` : max < Infinity ? ` of at most ${max}` : '';
  return `${kinds.join(' or ')}${limit}`;
}

function exampleOf(name: string, { is, oneOf, min, max, write }: OptionRule): string {
  if (write !== undefined) return write;
  if (oneOf) return `'${oneOf[0]}'`;
  const [kind = ''] = is.split(' or ');
  if (kind !== 'number') return getOwn(EXAMPLES, kind) ?? '…';
  const usual = name.endsWith('Ms') ? 10_000 : 10;
  return String(Math.min(Math.max(usual, min ?? usual), max ?? usual));
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
