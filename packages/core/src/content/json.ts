/** Anything JSON can say. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** An object that is JSON. */
export type JsonObject = { [key: string]: JsonValue };

/** How deep a value may nest; deeper ones would overflow the stack of some reader on the way. */
const MAX_DEPTH = 200;

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

/** One copy under way: how deep it is, and what was wrong where. */
interface Walk {
  /** Keys from the root to the fault, gathered on the way back. */
  readonly path: string[];
  readonly toJson: boolean;
  depth: number;
  reason: string | undefined;
}

/**
 * A deep copy of a JSON value, or the first fault in it. Not JSON are: undefined, functions, symbols, bigints, NaN and the
 * infinities, cycles and nesting deeper than 200, and objects with a prototype of their own (Date, Map, class instances),
 * because their copy would be something else. A property that is undefined is left out and -0 is 0, as `JSON.stringify` does.
 */
export function copyJson(
  value: unknown,
  options: CopyJsonOptions = {},
): { readonly value: JsonValue } | { readonly fault: JsonFault } {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { value };
  const walk: Walk = { path: [], toJson: options.toJson ?? false, depth: 0, reason: undefined };
  const copy = copyValue(value, walk);
  if (copy === undefined) return { fault: { path: walk.path.join('.'), reason: walk.reason ?? 'is undefined' } };
  return { value: copy };
}

/** Copies, or gives undefined with the reason in `walk` and its path at the place. */
function copyValue(value: unknown, walk: Walk): JsonValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      // JSON has no -0: a sum with 0 makes it 0.
      if (Number.isFinite(value)) return value + 0;
      walk.reason = `is ${value}, which JSON cannot say`;
      return undefined;
    case 'object':
      break;
    default:
      walk.reason = `is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`;
      return undefined;
  }
  if (value === null) return null;
  if (walk.depth >= MAX_DEPTH) {
    walk.reason = `is nested deeper than ${MAX_DEPTH} levels (is it a cycle?)`;
    return undefined;
  }
  if (Array.isArray(value)) return copyArray(value, walk);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    if (walk.toJson && 'toJSON' in value && typeof value.toJSON === 'function') return copyGiven(value.toJSON(), walk);
    walk.reason = `is a ${value.constructor?.name ?? 'class instance'}, not a plain object`;
    return undefined;
  }
  return copyObject(value, walk);
}

/** What a `toJSON` gave, which is not asked for its own `toJSON`: it may be the very object that gave it. */
function copyGiven(value: unknown, walk: Walk): JsonValue | undefined {
  return isRecord(value) ? copyObject(value, walk) : copyValue(value, walk);
}

function copyObject(value: object, walk: Walk): JsonValue | undefined {
  const source = value as Readonly<Record<string, unknown>>;
  const copy: JsonObject = {};
  walk.depth++;
  for (const key of Object.keys(source)) {
    const item = source[key];
    if (item === undefined) continue;
    const copied = copyValue(item, walk);
    if (copied === undefined) return faultAt(key, walk);
    setOwn(copy, key, copied);
  }
  walk.depth--;
  return copy;
}

function copyArray(value: readonly unknown[], walk: Walk): JsonValue | undefined {
  const copy: JsonValue[] = [];
  walk.depth++;
  for (let index = 0; index < value.length; index++) {
    const copied = copyValue(value[index], walk);
    if (copied === undefined) return faultAt(String(index), walk);
    copy.push(copied);
  }
  walk.depth--;
  return copy;
}

function faultAt(key: string, walk: Walk): undefined {
  walk.path.unshift(key);
  return undefined;
}

/** Sets a key as data, `__proto__` included: plain assignment would change the object's prototype instead. */
export function setOwn<T>(record: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') {
    Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    record[key] = value;
  }
}

/** Reads a key as data: what an object inherits is not there. */
export function getOwn<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** True for an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a value is, for a message: `must be a string, is a list`. */
export function describeKind(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
