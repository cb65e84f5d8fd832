import { isDeeperThan } from '../content/json-depth.ts';
import { getOwn, isRecord, setOwn } from '../content/json.ts';
import { InvalidEventError } from '../errors.ts';
import { ANY, DATA, faultOf, type Field, limitFaultOf } from './field.ts';

/** What State allows and the levels around it; JSON nested deeper overflows the stack of some reader on the way. */
const MAX_DEPTH = 250;
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
/** Members of vendors' objects whose own keys are somebody's data: OAuth scopes, HTTP headers, a tool's arguments and answer. */
const DATA_KEYS = new Set(['scopes', 'additionalHeaders', 'args', 'response']);

function fail(path: string, fault: string): never {
  throw new InvalidEventError(`${path}: ${fault}`, { path });
}

/**
 * Reads one value of parsed JSON as a field says.
 * @param limitFaults given for a request body: also checks limits and required members, and adds each fault as a line
 * @throws InvalidEventError that names `path`, for a value of another kind
 */
export function readField(field: Field, given: unknown, path: string, limitFaults?: string[]): unknown {
  const value = field.kind === 'seconds' ? toSeconds(given, path) : given;
  const fault = faultOf(field, value);
  if (fault !== undefined) fail(path, fault);
  const limitFault = limitFaults && limitFaultOf(field, value);
  if (limitFault !== undefined) limitFaults?.push(`${path}: ${limitFault}`);
  switch (field.kind) {
    case 'shape':
      return readObject(field, value, path, limitFaults);
    case 'vendor': {
      const read = readVendor(value, path);
      if (limitFaults) checkVendor(field, read, path, limitFaults);
      return read;
    }
    case 'list':
    case 'map':
      return readItems(field.item ?? ANY, value, path, limitFaults);
    default:
      return value;
  }
}

/** Seconds since the epoch, from RFC 3339 text; what is no text as it is. */
function toSeconds(value: unknown, path: string): unknown {
  if (typeof value !== 'string') return value;
  const seconds = RFC_3339.test(value) ? Date.parse(value.toUpperCase().replace(' ', 'T')) / 1000 : Number.NaN;
  return Number.isNaN(seconds) ? fail(path, 'must be seconds since the epoch or RFC 3339 text') : seconds;
}

function readItems(item: Field, value: unknown, path: string, limitFaults?: string[]): unknown {
  if (Array.isArray(value)) return value.map((entry, at) => readField(item, entry, `${path}[${at}]`, limitFaults));
  const read: Record<string, unknown> = {};
  for (const [key, entry] of Object.entries(readRecord(value, path))) {
    setOwn(read, key, readField(item, entry, `${path}.${key}`, limitFaults));
  }
  return read;
}

function readRecord(value: unknown, path: string): Record<string, unknown> {
  return isRecord(value) ? value : fail(path, faultOf(DATA, value) ?? '');
}

/**
 * Reads an object: known keys in either spelling (camelCase wins), unknown ones as they are, nulls left out. Required members that
 * have a fallback are filled in.
 */
function readObject(shape: Field, value: unknown, path: string, limitFaults?: string[]): Record<string, unknown> {
  const { fields = {}, required, isOpen } = shape;
  const source = readRecord(value, path);
  const read: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(source)) {
    if (item === null || item === undefined) continue;
    const name = fields[key] ? key : toCamelCase(key);
    const field = fields[name];
    if (!field) {
      if (isOpen) setOwn(read, key, item);
    } else if (name === key || !isGiven(source, name)) {
      setOwn(read, name, readField(field, item, `${path}.${name}`, limitFaults));
    }
  }
  for (const name of required) {
    if (Object.hasOwn(read, name)) continue;
    const field = fields[name];
    if (field?.fallback) read[name] = field.fallback();
    else if (field && limitFaults) limitFaults.push(`${path}.${name}: ${faultOf(field, undefined)}`);
  }
  return read;
}

/** Checks the known members of a vendor's object, as it was read. */
function checkVendor(
  { vendorFields }: Field,
  read: Record<string, unknown>,
  path: string,
  limitFaults: string[],
): void {
  for (const name in vendorFields) {
    const field = vendorFields[name];
    const value = getOwn(read, name);
    if (!field || value === undefined) continue;
    const fault = faultOf(field, value) ?? limitFaultOf(field, value);
    if (fault !== undefined) limitFaults.push(`${path}.${name}: ${fault}`);
    else if (isRecord(value)) checkVendor(field, value, `${path}.${name}`, limitFaults);
  }
}

/** Reads a vendor's object: keys in camelCase at any depth, values as they are, nulls left out. @throws InvalidEventError */
export function readVendor(value: unknown, path: string): Record<string, unknown> {
  const source = readRecord(value, path);
  const read: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(source)) {
    const name = toCamelCase(key);
    if (item === null || item === undefined || (name !== key && isGiven(source, name))) continue;
    setOwn(read, name, DATA_KEYS.has(name) ? item : readVendorValue(item));
  }
  return read;
}

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

/** Refuses parsed JSON that nests so deep that some reader on its way would fail. @throws InvalidEventError */
export function checkDepth(value: unknown, path: string): void {
  if (isDeeperThan(MAX_DEPTH, value)) fail(path, `is nested deeper than ${MAX_DEPTH} levels`);
}
