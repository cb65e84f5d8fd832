import { isBase64 } from '../content/base64.ts';
import { describeKind, isRecord, setOwn } from '../content/json.ts';
import { InvalidEventError } from '../errors/invalid-event-error.ts';

/** Reads one value of parsed JSON, or throws InvalidEventError that names `path`. */
export type Reader<T = unknown> = (value: unknown, path: string) => T;

/** The keys of an object, in camelCase, and how their values are read. */
export interface Shape {
  readonly [key: string]: Reader;
}

/** Seconds since the epoch at the end of year 9999: what is above was meant as milliseconds. */
const MAX_TIMESTAMP = 253_402_300_799.999;
/** What State allows and the levels around it; JSON nested deeper overflows the stack of some reader on the way. */
const MAX_DEPTH = 250;
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
/** Members of vendors' objects whose own keys are somebody's data: OAuth scopes, HTTP headers, a tool's arguments and answer. */
const DATA_KEYS = new Set(['scopes', 'additionalHeaders', 'args', 'response']);

function fail(path: string, fault: string): never {
  throw new InvalidEventError(`${path}: ${fault}`, { path });
}

function failKind(path: string, wanted: string, value: unknown): never {
  fail(path, `must be ${wanted}, is ${describeKind(value)}`);
}

export const readAny: Reader = (value) => value;
export const readString: Reader<string> = (value, path) =>
  typeof value === 'string' ? value : failKind(path, 'a string', value);
export const readBoolean: Reader<boolean> = (value, path) =>
  typeof value === 'boolean' ? value : failKind(path, 'true or false', value);
export const readNumber: Reader<number> = (value, path) =>
  typeof value === 'number' && Number.isFinite(value) ? value : failKind(path, 'a number', value);
export const readRecord: Reader<Record<string, unknown>> = (value, path) =>
  isRecord(value) ? value : failKind(path, 'an object', value);

export const readInteger: Reader<number> = (value, path) =>
  typeof value === 'number' && Number.isInteger(value) ? value : failKind(path, 'an integer', value);

/** Bytes stay the text they came as: both alphabets, padded or not. */
export const readBase64: Reader<string> = (value, path) => {
  const text = readString(value, path);
  return isBase64(text) ? text : fail(path, 'must be base64 text');
};

/** Seconds since the epoch, from a number or from RFC 3339 text. */
export const readTimestamp: Reader<number> = (value, path) => {
  const isDate = typeof value === 'string' && RFC_3339.test(value);
  const seconds = isDate ? Date.parse(value.toUpperCase().replace(' ', 'T')) / 1000 : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds)) {
    failKind(path, 'seconds since the epoch or RFC 3339 text', value);
  }
  if (seconds > MAX_TIMESTAMP) {
    fail(path, `${seconds} is past the year 9999; timestamps are in seconds, was this milliseconds?`);
  }
  return seconds;
};

export const listOf =
  (item: Reader): Reader<unknown[]> =>
  (value, path) =>
    Array.isArray(value) ? value.map((entry, at) => item(entry, `${path}[${at}]`)) : failKind(path, 'a list', value);

/** An object whose keys are data. */
export const mapOf =
  (item: Reader): Reader<Record<string, unknown>> =>
  (value, path) => {
    const read: Record<string, unknown> = {};
    for (const [key, entry] of Object.entries(readRecord(value, path))) {
      setOwn(read, key, item(entry, `${path}.${key}`));
    }
    return read;
  };

export const shaped =
  (shape: Shape): Reader<Record<string, unknown>> =>
  (value, path) =>
    readObject(shape, value, path);

/** Reads known keys in either spelling (camelCase wins), keeps unknown ones as they are, leaves nulls out. */
export function readObject(shape: Shape, value: unknown, path: string): Record<string, unknown> {
  const source = readRecord(value, path);
  const read: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(source)) {
    if (item === null || item === undefined) continue;
    const name = Object.hasOwn(shape, key) ? key : toCamelCase(key);
    const reader = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (!reader) setOwn(read, key, item);
    else if (name === key || !isGiven(source, name)) setOwn(read, name, reader(item, `${path}.${name}`));
  }
  return read;
}

/** A vendor's object: keys in camelCase at any depth, values as they are, and nulls left out. */
export const readVendor: Reader<Record<string, unknown>> = (value, path) => {
  const source = readRecord(value, path);
  const read: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(source)) {
    const name = toCamelCase(key);
    if (item === null || item === undefined || (name !== key && isGiven(source, name))) continue;
    setOwn(read, name, DATA_KEYS.has(name) ? item : readVendorValue(item));
  }
  return read;
};

function readVendorValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readVendorValue);
  return isRecord(value) ? readVendor(value, '') : value;
}

function isGiven(source: Record<string, unknown>, key: string): boolean {
  return Object.hasOwn(source, key) && source[key] !== null && source[key] !== undefined;
}

function toCamelCase(key: string): string {
  return key.includes('_')
    ? key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : key;
}

/** `shaped`, for the root of what came in: JSON that nests so deep that some reader on its way would fail is refused. */
export const documentOf =
  (shape: Shape): Reader<Record<string, unknown>> =>
  (value, path) => {
    if (isDeeperThan(MAX_DEPTH, value)) fail(path, `is nested deeper than ${MAX_DEPTH} levels`);
    return readObject(shape, value, path);
  };

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item));
  for (const key in value) if (isDeeperThan(levels - 1, (value as Record<string, unknown>)[key])) return true;
  return false;
}
