import { setOwn } from '../content/json.ts';
import { InvalidEventError } from '../errors/invalid-event-error.ts';
import type { Event } from './event.ts';
import { createEventActions } from './event-actions.ts';
import { mergeTags } from './event-tags.ts';

/** Seconds since the epoch at the end of year 9999: what is above was meant as milliseconds. */
const MAX_TIMESTAMP = 253_402_300_799.999;

type Json = Record<string, unknown>;
/** How the keys of an object are read: which have another spelling, and what their values are. */
interface Shape {
  readonly [key: string]: (value: unknown, path: string) => unknown;
}

/**
 * An event from JSON text or from what `JSON.parse` gave. Accepts camelCase and snake_case (camelCase wins), RFC 3339
 * timestamps, nulls (left out) and keys it does not know (kept). What the user owns (keys in `stateDelta`, `agentState`,
 * `customMetadata`, `args`, `response`) is never renamed.
 *
 * @throws InvalidEventError that names the path at fault.
 */
export function parseEvent(json: unknown): Event {
  const value = typeof json === 'string' ? parseJson(json) : json;
  const fields = readObject(EVENT, value, 'event');
  if ('tag' in fields && typeof fields['tag'] === 'string') {
    fields['tags'] = mergeTags(fields['tags'] as string[] | undefined, fields['tag']);
    delete fields['tag'];
  }
  return {
    ...fields,
    id: required(fields, 'id', ''),
    invocationId: required(fields, 'invocationId', ''),
    author: required(fields, 'author', ''),
    timestamp: required(fields, 'timestamp', 0),
    actions: createEventActions(fields['actions'] as object | undefined),
  };
}

function required<T>(fields: Json, key: string, fallback: T): T {
  return (fields[key] as T | undefined) ?? fallback;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidEventError(`event: not JSON: ${(cause as Error).message}`, { cause });
  }
}

function fail(path: string, wanted: string, value: unknown): never {
  throw new InvalidEventError(
    `${path}: must be ${wanted}, is ${value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value}`,
  );
}

const string = (value: unknown, path: string): string =>
  typeof value === 'string' ? value : fail(path, 'a string', value);
const boolean = (value: unknown, path: string): boolean =>
  typeof value === 'boolean' ? value : fail(path, 'true or false', value);
const number = (value: unknown, path: string): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : fail(path, 'a number', value);
const integer = (value: unknown, path: string): number =>
  Number.isInteger(value) ? (value as number) : fail(path, 'an integer', value);
const record = (value: unknown, path: string): Json => (isRecord(value) ? value : fail(path, 'an object', value));
const anything = (value: unknown): unknown => value;

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function timestamp(value: unknown, path: string): number {
  const seconds = typeof value === 'string' ? Date.parse(value) / 1000 : value;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds))
    fail(path, 'seconds since the epoch or RFC 3339 text', value);
  if (seconds > MAX_TIMESTAMP) {
    throw new InvalidEventError(
      `${path}: ${seconds} is past the year 9999; timestamps are in seconds, was this milliseconds?`,
    );
  }
  return seconds;
}

const list =
  (item: (value: unknown, path: string) => unknown) =>
  (value: unknown, path: string): unknown[] =>
    Array.isArray(value) ? value.map((entry, index) => item(entry, `${path}[${index}]`)) : fail(path, 'a list', value);

const mapOf =
  (item: (value: unknown, path: string) => unknown) =>
  (value: unknown, path: string): Json => {
    const read: Json = {};
    for (const [key, entry] of Object.entries(record(value, path))) setOwn(read, key, item(entry, `${path}.${key}`));
    return read;
  };

const shaped =
  (shape: Shape) =>
  (value: unknown, path: string): Json =>
    readObject(shape, value, path);

/** Reads known keys in either spelling, keeps unknown ones as they are, leaves nulls out. */
function readObject(shape: Shape, value: unknown, path: string): Json {
  const source = record(value, path);
  const read: Json = {};
  for (const [key, item] of Object.entries(source)) {
    if (item === null || item === undefined) continue;
    const name = Object.hasOwn(shape, key) ? key : toCamelCase(key);
    const reader = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (name !== key && reader && source[name] !== undefined && source[name] !== null) continue;
    setOwn(read, reader ? name : key, reader ? reader(item, `${path}.${name}`) : item);
  }
  return read;
}

function toCamelCase(key: string): string {
  return key.includes('_')
    ? key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    : key;
}

/** A vendor's object: every key in camelCase, at any depth, values as they are. */
function vendor(value: unknown, path: string): Json {
  const recased = recase(record(value, path));
  return recased as Json;
}

function recase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(recase);
  if (!isRecord(value)) return value;
  const read: Json = {};
  for (const [key, item] of Object.entries(value)) {
    const name = toCamelCase(key);
    if (item === null || (name !== key && Object.hasOwn(value, name))) continue;
    setOwn(read, name, recase(item));
  }
  return read;
}

const BLOB: Shape = { data: string, mimeType: string, displayName: string };
const PART: Shape = {
  text: string,
  thought: boolean,
  thoughtSignature: string,
  functionCall: shaped({ id: string, name: string, args: record, partialArgs: list(vendor), willContinue: boolean }),
  functionResponse: shaped({
    id: string,
    name: string,
    response: record,
    parts: list(vendor),
    scheduling: string,
    willContinue: boolean,
  }),
  inlineData: shaped(BLOB),
  fileData: shaped({ fileUri: string, mimeType: string, displayName: string }),
  executableCode: shaped({ code: string, language: string, id: string }),
  codeExecutionResult: shaped({ outcome: string, output: string, id: string }),
  videoMetadata: vendor,
  partMetadata: record,
  toolCall: vendor,
  toolResponse: vendor,
  audioTranscription: vendor,
  mediaResolution: anything,
  mediaProcessing: anything,
  speechMetadata: vendor,
};
const CONTENT: Shape = { role: string, parts: list(shaped(PART)) };

/**
 * A content from JSON, in either spelling.
 * @throws InvalidEventError that names the path at fault; `path` is what that path starts with.
 */
export function parseContent(json: unknown, path = 'content'): NonNullable<Event['content']> {
  return readObject(CONTENT, json, path);
}

const ACTIONS: Shape = {
  stateDelta: record,
  removedState: list(string),
  artifactDelta: mapOf(integer),
  transferToAgent: string,
  escalate: boolean,
  skipSummarization: boolean,
  endOfAgent: boolean,
  agentState: record,
  requestedAuthConfigs: mapOf(vendor),
  requestedToolConfirmations: mapOf(shaped({ hint: string, confirmed: boolean, payload: anything })),
  compaction: shaped({ startTimestamp: timestamp, endTimestamp: timestamp, compactedContent: shaped(CONTENT) }),
  rewindBeforeInvocationId: string,
};
const TRANSCRIPTION: Shape = { text: string, finished: boolean };
const EVENT: Shape = {
  id: string,
  invocationId: string,
  author: string,
  timestamp,
  branch: string,
  content: shaped(CONTENT),
  partial: boolean,
  turnComplete: boolean,
  interrupted: boolean,
  finishReason: string,
  errorCode: string,
  errorMessage: string,
  usageMetadata: vendor,
  groundingMetadata: vendor,
  citationMetadata: vendor,
  cacheMetadata: vendor,
  logprobsResult: vendor,
  avgLogprobs: number,
  modelVersion: string,
  customMetadata: record,
  inputTranscription: shaped(TRANSCRIPTION),
  outputTranscription: shaped(TRANSCRIPTION),
  liveSessionResumptionUpdate: shaped({ newHandle: string, resumable: boolean }),
  longRunningToolIds: list(string),
  actions: shaped(ACTIONS),
  requestId: string,
  executionId: string,
  parentExecutionId: string,
  responseId: string,
  object: string,
  tags: list(string),
  tag: string,
  nodeEvent: shaped({
    eventType: string,
    category: string,
    nodeId: string,
    payload: anything,
    progress: number,
    message: string,
    stepNumber: integer,
  }),
  error: shaped({ type: string, message: string, code: string, param: string }),
  alternatives: list(shaped({ index: integer, content: shaped(CONTENT), finishReason: string })),
};
