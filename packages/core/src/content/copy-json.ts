import type { JsonValue } from './json.ts';
import { copyValue, type JsonWalk } from './json-walk.ts';

/** Where and why a value is not JSON. */
export interface JsonFault {
  /** Dotted path from the value's root, empty for the root itself. */
  readonly path: string;
  readonly reason: string;
}

/** How to copy. */
export interface CopyJsonOptions {
  /** Take an object with a `toJSON` method (Date, URL, …) for what that method gives. Default false: such an object is a fault. */
  readonly toJson?: boolean;
}

/**
 * A deep copy of a JSON value, or the first fault in it. Not JSON are: undefined, functions, symbols, bigints, NaN and the
 * infinities, cycles and nesting deeper than 200, and objects with a prototype of their own (Date, Map, class instances),
 * because their copy would be something else. A property that is undefined is left out and -0 is 0, as `JSON.stringify` does.
 */
export function copyJson(
  value: unknown,
  { toJson = false }: CopyJsonOptions = {},
): { readonly value: JsonValue } | { readonly fault: JsonFault } {
  const walk: JsonWalk = { freezes: false, toJson, checkBytes: false, reason: undefined, keys: [] };
  const copy = copyValue(value, walk, 0) as JsonValue | undefined;
  return copy === undefined ? { fault: { path: walk.keys.join('.'), reason: walk.reason ?? '' } } : { value: copy };
}
