import type { Content } from '../content/content.ts';
import { getOwn, isDeeperThan, isRecord, setOwn } from '../content/json.ts';
import { InvalidEventError, toError } from '../errors.ts';
import type { Event } from './event.ts';
import { CONTENT, EVENT } from './event-shape.ts';
import { mergeTags } from './event-tags.ts';
import { ANY, faultOf, type Field, limitFaultOf } from './field.ts';

/** Maximum nesting of an event: the 200 levels of a state value and the levels around it. */
const MAX_DEPTH = 250;
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;
/** Members of vendors' objects whose own keys are user data: OAuth scopes, HTTP headers, a tool's arguments and response. */
const DATA_KEYS = new Set(['scopes', 'additionalHeaders', 'args', 'response']);

/**
 * Parses an event from JSON text or from a value of `JSON.parse`. Accepts camelCase and snake_case (camelCase wins), RFC 3339
 * timestamps, nulls (left out) and unknown keys (kept). Keys of the user (in `stateDelta`, `agentState`, `customMetadata`, `args`
 * and `response`) are never renamed.
 *
 * @throws InvalidEventError that names the invalid path
 *
 * @example
 * const parsed = parseEvent('{"author": "helper", "content": {"parts": [{"text": "Hello"}]}}');
 * parsed.content?.parts?.[0]?.text; // 'Hello'
 */
export function parseEvent(json: unknown): Event {
  return readJson(EVENT, typeof json === 'string' ? parseJson(json) : json, 'event');
}

/**
 * Parses a content from parsed JSON, in camelCase or snake_case.
 * @param path prefix of the path in errors
 * @throws InvalidEventError that names the invalid path
 */
export function parseContent(json: unknown, path = 'content'): Content {
  return readJson(CONTENT, json, path);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidEventError(`event: is not JSON: ${toError(cause).message}`, { cause, path: 'event' });
  }
}

/**
 * Reads parsed JSON by the description of a field.
 *
 * @param path the start of the path in errors; empty for a body, whose faults begin with the names of its members
 * @param faults takes all faults, a line each, also those against limits and missing members, which only request bodies must not have.
 *   Without it the first fault is thrown.
 * @throws InvalidEventError that names the path at fault
 */
export function readJson<T>(field: Field<T>, json: unknown, path: string, faults?: string[]): T {
  const isTooDeep = isDeeperThan(MAX_DEPTH, json);
  const read = isTooDeep
    ? refuse(path || 'body', `is nested deeper than ${MAX_DEPTH} levels`, faults)
    : readField(field, json, path, faults);
  return read as T;
}

/** Maximum length of a path in an error message, in characters: the keys of a map are the sender's. */
const MAX_PATH = 256;

/** Throws a fault, or adds it to the list if there is one. */
function refuse(fullPath: string, fault: string, faults: string[] | undefined): undefined {
  const path = fullPath.length > MAX_PATH ? `${fullPath.slice(0, MAX_PATH)}…` : fullPath;
  if (!faults) throw new InvalidEventError(`${path}: ${fault}`, { path });
  faults.push(`${path}: ${fault}`);
}

/** Reads one value. Returns undefined for a value with a fault. */
function readField(field: Field, value: unknown, path: string, faults: string[] | undefined): unknown {
  if (field.kind === 'seconds' && typeof value === 'string') return readTime(field, value, path, faults);
  const fault = faultOf(field, value) ?? (faults && limitFaultOf(field, value));
  if (fault !== undefined) return refuse(path || 'body', fault, faults);
  switch (field.kind) {
    case 'shape': {
      const read = readObject(field, value as Record<string, unknown>, path, faults);
      return read['tag'] !== undefined && field.name === 'Event' ? withTags(read) : read;
    }
    case 'vendor': {
      const read = readVendor(value as Record<string, unknown>);
      if (faults) checkVendor(field, read, path, faults);
      return read;
    }
    case 'list': {
      const read: unknown[] = [];
      for (const item of value as unknown[])
        read.push(readField(field.item ?? ANY, item, `${path}[${read.length}]`, faults));
      return read;
    }
    case 'map': {
      const read: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value as object)) {
        setOwn(read, key, readField(field.item ?? ANY, item, `${path}.${key}`, faults));
      }
      return read;
    }
    default:
      return value;
  }
}

/** Reads RFC 3339 text as seconds since the epoch. */
function readTime(field: Field, text: string, path: string, faults: string[] | undefined): unknown {
  const ms = RFC_3339.test(text) ? Date.parse(text.toUpperCase().replace(' ', 'T')) : Number.NaN;
  if (Number.isNaN(ms)) {
    const got = JSON.stringify(text.slice(0, 40));
    return refuse(path, `expected seconds since the epoch or RFC 3339 text, got ${got}`, faults);
  }
  return readField(field, ms / 1000, path, faults);
}

/**
 * Reads an object: known keys in either spelling (camelCase wins), unknown ones as they are, nulls left out. Required members that
 * have a fallback are filled in.
 */
function readObject(
  { fields = {}, required, isOpen }: Field,
  source: Record<string, unknown>,
  path: string,
  faults: string[] | undefined,
): Record<string, unknown> {
  const before = path === '' ? '' : `${path}.`;
  const read: Record<string, unknown> = {};
  for (const key of Object.keys(source)) {
    const item = source[key];
    if (item === null || item === undefined) continue;
    const name = fields[key] ? key : toCamelCase(key);
    const field = fields[name];
    if (!field) {
      if (isOpen) setOwn(read, key, item);
    } else if (name === key || !isGiven(source, name)) {
      setOwn(read, name, readField(field, item, before + name, faults));
    }
  }
  for (const name of required) {
    if (Object.hasOwn(read, name)) continue;
    const field = fields[name];
    if (field?.fallback) read[name] = field.fallback();
    else if (field && faults) refuse(before + name, faultOf(field, undefined) ?? '', faults);
  }
  return read;
}

/** Splits tags: trpc-agent-go writes the tags of an event as one string. */
function withTags({ tag, ...event }: Record<string, unknown>): Record<string, unknown> {
  const tags = mergeTags(event['tags'] as Event['tags'], tag as string);
  return tags.length > 0 ? { ...event, tags } : event;
}

/** Checks the known members of a vendor's object after it was read. */
function checkVendor({ vendorFields }: Field, read: Record<string, unknown>, path: string, faults: string[]): void {
  for (const name in vendorFields) {
    const field = vendorFields[name];
    const value = getOwn(read, name);
    if (!field || value === undefined) continue;
    const fault = faultOf(field, value) ?? limitFaultOf(field, value);
    if (fault !== undefined) refuse(`${path}.${name}`, fault, faults);
    else if (isRecord(value)) checkVendor(field, value, `${path}.${name}`, faults);
  }
}

/** Reads a vendor's object: keys in camelCase at any depth, values as they are, nulls left out. */
export function readVendor(source: Readonly<Record<string, unknown>>): Record<string, unknown> {
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
  return isRecord(value) ? readVendor(value) : value;
}

function isGiven(source: Readonly<Record<string, unknown>>, key: string): boolean {
  return Object.hasOwn(source, key) && source[key] !== null && source[key] !== undefined;
}

function toCamelCase(key: string): string {
  return key.includes('_')
    ? key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : key;
}
