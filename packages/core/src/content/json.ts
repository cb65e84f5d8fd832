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

/**
 * A deep copy of a JSON value, or the first fault in it. Not JSON are: undefined, functions, symbols, bigints, NaN and the
 * infinities, cycles and nesting deeper than 200, and objects with a prototype of their own (Date, Map, class instances),
 * because their copy would be something else. A property that is undefined is left out, as `JSON.stringify` does.
 */
export function copyJson(value: unknown): { readonly value: JsonValue } | { readonly fault: JsonFault } {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return { value };
  const path: string[] = [];
  const reason: { text?: string } = {};
  const copy = copyValue(value, path, reason);
  if (reason.text !== undefined || copy === undefined) {
    return { fault: { path: path.join('.'), reason: reason.text ?? 'is undefined' } };
  }
  return { value: copy };
}

/** Copies, or says why not in `reason` and leaves `path` at the place. */
function copyValue(value: unknown, path: string[], reason: { text?: string }): JsonValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      reason.text = `is ${value}, which JSON cannot say`;
      return undefined;
    case 'object':
      break;
    default:
      reason.text = `is ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`;
      return undefined;
  }
  if (value === null) return null;
  if (path.length > MAX_DEPTH) {
    reason.text = `is nested deeper than ${MAX_DEPTH} levels (is it a cycle?)`;
    return undefined;
  }
  if (Array.isArray(value)) return copyArray(value, path, reason);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    reason.text = `is a ${value.constructor?.name ?? 'class instance'}, not a plain object`;
    return undefined;
  }
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    path.push(key);
    const copied = copyValue(item, path, reason);
    if (copied === undefined) return undefined;
    path.pop();
    setOwn(copy, key, copied);
  }
  return copy;
}

function copyArray(value: readonly unknown[], path: string[], reason: { text?: string }): JsonValue | undefined {
  const copy: JsonValue[] = [];
  for (let index = 0; index < value.length; index++) {
    path.push(String(index));
    const copied = copyValue(value[index], path, reason);
    if (copied === undefined) return undefined;
    path.pop();
    copy.push(copied);
  }
  return copy;
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
