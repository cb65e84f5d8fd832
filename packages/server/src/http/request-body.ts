import { EventloomError, InvalidRequestError, type Platform, toError } from '@eventloom/core';
import { checkName, isRecord, joinBytes, weigh } from '@eventloom/core/internal';
import { isDeeperThan } from '@eventloom/core/wire';
import { BodyTooLargeError } from '../errors.ts';
import type { ServerLimits } from '../server-limits.ts';
import { atOnce, type Steps } from './in-slices.ts';
import type { RequestQuota } from './user-quotas.ts';

/**
 * Maximum announced length, in bytes, that is counted before the body has arrived. For longer bodies only received bytes are counted,
 * because a client can announce any length, and then send nothing.
 */
const COUNTED_AHEAD = 8 * 1024;
/** Minimum number of bytes of a larger body that must arrive in each interval, because its bytes are counted until it is complete. */
const MIN_PROGRESS = 64 * 1024;
const PROGRESS_MS = 30_000;
/** Maximum number of bytes of a refused body that are read and discarded. */
const MAX_DISCARDED = 64 * 1024 * 1024;

/**
 * Reads the bytes of a body, and counts them.
 *
 * @throws BodyTooLargeError, UserLimitError or ServerBusyError before the rest is read, which is then discarded; InvalidRequestError for an
 * incomplete body, and for one that arrives too slowly
 */
export async function readBytes(
  request: Request,
  maxBytes: number,
  quota: RequestQuota,
  platform: Pick<Platform, 'schedule' | 'background'>,
): Promise<Uint8Array<ArrayBuffer>> {
  let callOff: (() => void) | undefined;
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  try {
    const announced = request.headers.get('content-length');
    // The HTTP server enforces the announced length.
    if (announced !== null && Number(announced) > maxBytes) throw tooLarge(maxBytes);
    if (announced !== null && Number(announced) <= COUNTED_AHEAD) {
      quota.count('bodyBytes', Number(announced));
      return new Uint8Array(await request.arrayBuffer());
    }
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let length = 0;
    let checkedLength = 0;
    const stalled = Promise.withResolvers<never>();
    const check = (): void => {
      if (length - checkedLength < MIN_PROGRESS) stalled.reject(tooSlow());
      checkedLength = length;
      callOff = platform.schedule(PROGRESS_MS, check);
    };
    reader = request.body?.getReader();
    for (;;) {
      const next = await Promise.race([reader?.read(), stalled.promise]);
      if (!next || next.done) break;
      length += next.value.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      quota.count('bodyBytes', next.value.length);
      if (length > COUNTED_AHEAD) callOff ??= platform.schedule(PROGRESS_MS, check);
      chunks.push(next.value);
    }
    const [only] = chunks;
    return chunks.length === 1 && only ? only : joinBytes(chunks);
  } catch (cause) {
    if (EventloomError.isInstance(cause)) {
      if (reader) platform.background(discardRest(reader));
      throw cause;
    }
    // The transport fails if the client disconnects or sends an invalid HTTP body.
    throw new InvalidRequestError('body: ended before its announced length; send the request again', { cause });
  } finally {
    callOff?.();
  }
}

/** Reads the rest of a refused body. Otherwise Node could not read the client's next request on the same connection. */
async function discardRest(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  for (let length = 0; length <= MAX_DISCARDED;) {
    // A client that disconnects needs no further answer.
    const next = await reader.read().catch(() => undefined);
    if (!next || next.done) return;
    length += next.value.length;
  }
}

function tooSlow(): InvalidRequestError {
  const [kib, seconds] = [MIN_PROGRESS / 1024, PROGRESS_MS / 1000];
  return new InvalidRequestError(`body: fewer than ${kib} KiB arrived in ${seconds} seconds; send the request again`);
}

function tooLarge(maxBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`body: is larger than the ${maxBytes} bytes that this server accepts`);
}

/** The limits of the number of entries in a body. */
export type CountLimits = Pick<
  ServerLimits,
  'maxBodyParts' | 'maxBodyEvents' | 'maxBodyKeys' | 'maxBodyTotalKeys' | 'maxBodyTotalValues' | 'maxBodyMetadataChars'
>;

/** Maximum nesting depth of JSON. A deeper value would overflow the stack of a recursive reader. */
const MAX_DEPTH = 256;

/** Minimum numbers of characters of a key with its value, and of a value, in JSON. */
const CHARS_OF: JsonCounts = { keys: 5, values: 2 };

/** Numbers of keys and of values in JSON: see `maxBodyTotalKeys` and `maxBodyTotalValues`. */
interface JsonCounts {
  keys: number;
  values: number;
}

/** Numbers of keys and values that each imported event may add to those of its body. */
const OF_EVENT: JsonCounts = { keys: 50, values: 100 };

/**
 * Parses JSON text from a client.
 * @param what names the text in error messages
 * @param ofImport the numbers of its keys and values, for a body that may have the events of a new session. Default: it has
 * none, and its keys and values are counted unless the text is short
 * @throws InvalidRequestError if it is not JSON or is nested too deeply
 * @throws BodyTooLargeError if it has more keys or values than the limits allow
 */
export function parseJson(what: string, text: string, limits: CountLimits, ofImport?: JsonCounts): unknown {
  // Very many keys or values block the process when they are parsed, copied or written.
  const { maxBodyTotalKeys, maxBodyTotalValues, maxBodyEvents } = limits;
  const mayHaveMany = text.length > Math.min(CHARS_OF.keys * maxBodyTotalKeys, CHARS_OF.values * maxBodyTotalValues);
  const counts = ofImport ?? (mayHaveMany ? atOnce(countJson(text)) : undefined);
  if (counts) checkTotals(what, counts, limits, ofImport ? maxBodyEvents : 0);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InvalidRequestError(`${what}: is not JSON: ${toError(cause).message}`, { cause });
  }
  if (isDeeperThan(MAX_DEPTH, value))
    throw new InvalidRequestError(`${what}: is nested deeper than ${MAX_DEPTH} levels; send a flatter value`);
  const events = ofImport && isRecord(value) ? value['events'] : undefined;
  if (counts) checkTotals(what, counts, limits, Array.isArray(events) ? events.length : 0);
  return value;
}

/** Parses a body with the events of a new session, in steps. `JSON.parse` is one of them, whatever the length of the text. */
export function* parseEventsJson(text: string, limits: CountLimits): Steps<unknown> {
  const counts = yield* countJson(text);
  const value = parseJson('body', text, limits, counts);
  yield text.length;
  return value;
}

/** @throws BodyTooLargeError for more keys or values than the limits allow for a body with this number of imported events */
function checkTotals(what: string, counts: JsonCounts, limits: CountLimits, events: number): void {
  for (const [kind, limit] of TOTALS)
    if (counts[kind] > limits[limit] + OF_EVENT[kind] * events)
      throw new BodyTooLargeError(
        `${what}: has more than ${limits[limit]} ${kind} in total, which is limits.${limit} of this server`,
      );
}

const TOTALS = [
  ['keys', 'maxBodyTotalKeys'],
  ['values', 'maxBodyTotalValues'],
] as const;

/** Number of characters of a step. */
const CHARS_OF_STEP = 64 * 1024;

/** Codes of the characters that tell what is in JSON: `:`, `,`, `[`, `{` and `"`. */
const [COLON, COMMA, BRACKET, BRACE, QUOTE] = [58, 44, 91, 123, 34];

/** Counts the keys of all objects in JSON text, and the values: a value begins its list or object, or has a comma before it. */
function* countJson(text: string): Steps<JsonCounts> {
  const counts: JsonCounts = { keys: 0, values: 0 };
  let stepEnd = CHARS_OF_STEP;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === COLON) counts.keys++;
    else if (code === COMMA || code === BRACKET || code === BRACE) counts.values++;
    else if (code === QUOTE) {
      let slashes = 1;
      while (slashes % 2 === 1) {
        index = text.indexOf('"', index + 1);
        if (index < 0) return counts;
        for (slashes = 0; text[index - 1 - slashes] === '\\'; slashes++);
      }
    }
    if (index < stepEnd) continue;
    yield CHARS_OF_STEP;
    stepEnd = index + CHARS_OF_STEP;
  }
  return counts;
}

/** Maximum number of fields of an event, its actions, a content and a part: readers keep unknown ones. */
const MAX_FIELDS = 1000;

/** The limit for each field of a body, in either spelling; undefined for fields that contain limited fields. */
const COUNTED: Readonly<Record<string, keyof CountLimits | undefined>> = {
  newMessage: undefined,
  new_message: undefined,
  content: undefined,
  artifact: undefined,
  actions: undefined,
  parts: 'maxBodyParts',
  events: 'maxBodyEvents',
  state: 'maxBodyKeys',
  stateDelta: 'maxBodyKeys',
  state_delta: 'maxBodyKeys',
  removedState: 'maxBodyKeys',
  removed_state: 'maxBodyKeys',
  customMetadata: 'maxBodyKeys',
  custom_metadata: 'maxBodyKeys',
};

/**
 * Counts the entries of a body before they are read, because a small body may have very many. Those of events are left to
 * `checkEventCounts`.
 * @throws BodyTooLargeError for more entries than the limits allow
 */
export function checkCounts(body: unknown, limits: CountLimits, path = ''): void {
  if (!isRecord(body)) return;
  if (path !== '' && Object.keys(body).length > MAX_FIELDS) throw tooManyFields(path.slice(0, -1));
  for (const [name, limit] of Object.entries(COUNTED)) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (typeof value !== 'object' || value === null) continue;
    const at = path + name;
    if (limit === undefined) checkCounts(value, limits, `${at}.`);
    else if (Object.keys(value).length > limits[limit])
      throw new BodyTooLargeError(
        `${at}: has more than ${limits[limit]} entries, which is limits.${limit} of this server`,
      );
    if (!Array.isArray(value) || name !== 'parts') continue;
    for (const [index, part] of value.entries())
      if (isRecord(part) && Object.keys(part).length > MAX_FIELDS) throw tooManyFields(`${at}[${index}]`);
  }
}

/**
 * Counts the entries of a body with the events of a new session, event by event.
 * @throws BodyTooLargeError for more entries than the limits allow
 */
export function* checkEventCounts(body: unknown, limits: CountLimits): Steps<void> {
  checkCounts(body, limits);
  const events = isRecord(body) ? body['events'] : undefined;
  if (!Array.isArray(events)) return;
  for (const [index, event] of events.entries()) {
    checkCounts(event, limits, `events[${index}].`);
    yield weigh(event);
  }
}

function tooManyFields(at: string): BodyTooLargeError {
  return new BodyTooLargeError(`${at}: has more than ${MAX_FIELDS} fields`);
}

/**
 * Checks the id of a user or a session that a request names.
 * @throws InvalidRequestError if it is blank, has a control character, is longer than 256 bytes, or has a segment `.` or `..`, which would
 * be resolved in a path or an address that is built from it
 */
export function checkId(field: string, id: string): void {
  if (id.trim() === '') throw new InvalidRequestError(`${field}: is blank; write a value`);
  if (CONTROL_CHARACTER.test(id)) throw new InvalidRequestError(`${field}: contains a control character; remove it`);
  if (DOT_SEGMENT.test(id))
    throw new InvalidRequestError(`${field}: has a segment "." or "..", which an address cannot have; use another id`);
  checkName(field, id);
}

/** Finds a control character, such as NUL. */
export const CONTROL_CHARACTER: RegExp = /\p{Cc}/u;
const DOT_SEGMENT = /(^|[/\\])\.\.?([/\\]|$)/;

const MAX_CHARS = 100;
/** Characters that JSON does not escape and a terminal or a page would interpret. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Quotes a text of a request for an error message: truncated to 100 characters, without invisible characters. */
export function quotedName(name: string): string {
  const quoted = JSON.stringify(name.slice(0, MAX_CHARS)).replace(INVISIBLE, escaped);
  return name.length > MAX_CHARS ? `${quoted}…` : quoted;
}

/** Returns a text that may quote a request, for an error message: truncated, and without invisible characters except line breaks. */
export function visibleText(text: string, maxChars: number): string {
  const shown = text.length > maxChars ? `${text.slice(0, maxChars)}…` : text;
  return shown.replace(INVISIBLE, (character) => (character === '\n' ? character : escaped(character)));
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** Returns a path, an origin or a host for an error message: only characters of an address, at most 100. */
export function shownAddress(address: string): string {
  const shown = address.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent);
  return shown.length > MAX_CHARS ? `${shown.slice(0, MAX_CHARS)}…` : shown;
}

/** Returns what to write in place of a text that is not an origin: the origin of the address, or an example if it is no web address. */
export function originToWrite(text: unknown, example: string): string {
  const isAddress = typeof text === 'string' && /^https?:/i.test(text) && URL.canParse(text);
  return isAddress ? `write ${JSON.stringify(new URL(text).origin)}` : `write it like ${example}`;
}
