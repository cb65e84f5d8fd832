import { isDeeperThan } from '../content/json-depth.ts';
import { isRecord, setOwn } from '../content/json.ts';
import { InvalidEventError } from '../errors.ts';
import { DATA, faultOf, type Field, type Fields } from './field.ts';

/** Reads one value of parsed JSON, or throws InvalidEventError that names `path`. */
export type Reader<T = unknown> = (value: unknown, path: string) => T;

/** What State allows and the levels around it; JSON nested deeper overflows the stack of some reader on the way. */
const MAX_DEPTH = 250;
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
/** Members of vendors' objects whose own keys are somebody's data: OAuth scopes, HTTP headers, a tool's arguments and answer. */
const DATA_KEYS = new Set(['scopes', 'additionalHeaders', 'args', 'response']);

function fail(path: string, fault: string): never {
  throw new InvalidEventError(`${path}: ${fault}`, { path });
}

function readField(field: Field, given: unknown, path: string): unknown {
  const value = field.kind === 'seconds' ? toSeconds(given, path) : given;
  const fault = faultOf(field, value);
  if (fault !== undefined) fail(path, fault);
  const { item, fields } = field;
  if (fields) return readObject(fields, value, path);
  if (item) return Array.isArray(value) ? readList(item, value, path) : readMap(item, value, path);
  return field.kind === 'vendor' ? readVendor(value, path) : value;
}

/** Seconds since the epoch, from RFC 3339 text; what is no text as it is. */
function toSeconds(value: unknown, path: string): unknown {
  if (typeof value !== 'string') return value;
  const seconds = RFC_3339.test(value) ? Date.parse(value.toUpperCase().replace(' ', 'T')) / 1000 : Number.NaN;
  return Number.isNaN(seconds) ? fail(path, 'must be seconds since the epoch or RFC 3339 text') : seconds;
}

function readList(item: Field, list: readonly unknown[], path: string): unknown[] {
  return list.map((entry, at) => readField(item, entry, `${path}[${at}]`));
}

function readMap(item: Field, value: unknown, path: string): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(readRecord(value, path))) {
    setOwn(read, key, readField(item, entry, `${path}.${key}`));
  }
  return read;
}

function readRecord(value: unknown, path: string): Record<string, unknown> {
  return isRecord(value) ? value : fail(path, faultOf(DATA, value) ?? '');
}

/** Reads known keys in either spelling (camelCase wins), keeps unknown ones as they are, leaves nulls out. */
export function readObject(fields: Fields, value: unknown, path: string): Record<string, unknown> {
  const source = readRecord(value, path);
  const read: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(source)) {
    if (item === null || item === undefined) continue;
    const name = Object.hasOwn(fields, key) ? key : toCamelCase(key);
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) setOwn(read, key, item);
    else if (name === key || !isGiven(source, name)) setOwn(read, name, readField(field, item, `${path}.${name}`));
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

/** Reads the root of what came in: JSON that nests so deep that some reader on its way would fail is refused. */
export const documentOf =
  (fields: Fields): Reader<Record<string, unknown>> =>
  (value, path) => {
    if (isDeeperThan(MAX_DEPTH, value)) fail(path, `is nested deeper than ${MAX_DEPTH} levels`);
    return readObject(fields, value, path);
  };
