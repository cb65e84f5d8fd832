import { describeKind, getOwn, isRecord } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';

/** What a value must be, or undefined when it is that. */
export type Check = (value: unknown) => string | undefined;

/** A check for each option there is. */
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

/** @param path names the options in messages @throws ConfigurationError for a value that makes no sense, and for an unknown option */
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
