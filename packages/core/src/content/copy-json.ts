import type { JsonValue } from './json.ts';
import { copyValue, type JsonWalk, markSealed } from './json-walk.ts';

/** Where and why a value is not JSON. */
export interface JsonFault {
  /** Dotted path from the value's root, empty for the root itself. */
  readonly path: string;
  readonly reason: string;
}

/** A copy, or the first fault. */
export type CopiedJson = { readonly value: JsonValue } | { readonly fault: JsonFault };

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
export function copyJson(value: unknown, { toJson = false }: CopyJsonOptions = {}): CopiedJson {
  return copyRoot(value, { freezes: false, toJson, checkBytes: false, reason: undefined, keys: [] }, 0);
}

/** Where the data of a function response lies in an event: what is sealed is not too deep for one. */
const DEPTH_IN_EVENT = 5;

/**
 * The same as `copyJson`, deeply frozen. The copy is made once: `sealEvent`, the tool ledger and another `sealJson` share it
 * instead of copying it again.
 */
export function sealJson(value: unknown, { toJson = false }: CopyJsonOptions = {}): CopiedJson {
  const walk: JsonWalk = { freezes: true, toJson, checkBytes: false, reason: undefined, keys: [] };
  const copied = copyRoot(value, walk, DEPTH_IN_EVENT);
  if ('value' in copied && typeof copied.value === 'object' && copied.value !== null) markSealed(copied.value);
  return copied;
}

function copyRoot(value: unknown, walk: JsonWalk, depth: number): CopiedJson {
  const copy = copyValue(value, walk, depth) as JsonValue | undefined;
  return copy === undefined ? { fault: { path: walk.keys.join('.'), reason: walk.reason ?? '' } } : { value: copy };
}
