/** Any JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A JSON object. */
export type JsonObject = { [key: string]: JsonValue };

/** Sets an own property. Also works for `__proto__`, where an assignment would change the prototype. */
export function setOwn<T>(record: Record<string, T>, key: string, value: T): void {
  if (key === '__proto__') {
    Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    record[key] = value;
  }
}

/** Reads an own property; undefined for an inherited one. */
export function getOwn<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** True for an object that is not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a text as JSON; undefined if it is not JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a text as JSON; the text itself if it is not JSON. */
export function jsonOrText(text: string): unknown {
  const value = tryParseJson(text);
  return value === undefined ? text : value;
}

/** Describes the kind of a value for error messages, e.g. `a list` in `expected a string, got a list`. */
export function describeKind(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return `the number ${value}`;
  if (Array.isArray(value)) return 'a list';
  // Two frequent mistakes: `await` is missing, and `new` before a class.
  if (value instanceof Promise) return 'a promise';
  if (typeof value === 'function' && String(value).startsWith('class')) return `the class ${value.name}`;
  if (typeof value !== 'object') return `a ${typeof value}`;
  // The name is read from the prototype, because a client can send an object with a `constructor` of its own.
  const { constructor = Object } = (Object.getPrototypeOf(value) ?? {}) as {
    readonly constructor?: { readonly name: string };
  };
  return constructor === Object || constructor.name === '' ? 'an object' : `an object of the class ${constructor.name}`;
}

/** True for parsed JSON with more levels of lists and objects than the limit; a recursive reader could overflow the stack. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeperThan(levels - 1, item)) return true;
    return false;
  }
  for (const key in value) if (isDeeperThan(levels - 1, (value as Record<string, unknown>)[key])) return true;
  return false;
}

/** Returns the approximate number of characters of a value's JSON. */
export function weigh(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  let weight = 2;
  if (Array.isArray(value)) {
    for (const item of value) weight += weigh(item);
  } else {
    for (const key in value) weight += key.length + weigh((value as Readonly<Record<string, unknown>>)[key]);
  }
  return weight;
}

/** True for two equal JSON values, in any order of keys. Values that are not JSON are compared by identity. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item: unknown, index) => isSameJson(item, other[index]))
    );
  if (!isPlain(one) || !isPlain(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
}

function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
