import { describeKind, isRecord } from '../content/json.ts';
import { InvalidEventError, InvalidRequestError } from '../errors.ts';
import { CONTENT } from '../event/event-shape.ts';
import { type Field, faultOf } from '../event/field.ts';
import { readContent, readEvent } from '../event/parse-event.ts';
import { readField } from '../event/read-json.ts';
import {
  CREATE_SESSION_BODY,
  type CreateSessionRequest,
  PATCH_SESSION_BODY,
  type PatchSessionRequest,
  REWIND_SESSION_BODY,
  type RewindSessionRequest,
  RUN_BODY,
  type RunRequest,
} from './wire-shapes.ts';

/** Faults that a message names; a body can have any number of them. */
const MAX_FAULTS = 3;

/** @throws InvalidRequestError */
export function readRunRequest(body: unknown): RunRequest {
  return readBody(RUN_BODY, body);
}

/** No body at all is an empty one. @throws InvalidRequestError */
export function readCreateSessionRequest(body: unknown): CreateSessionRequest {
  return readBody(CREATE_SESSION_BODY, body ?? {});
}

/** @throws InvalidRequestError */
export function readPatchSessionRequest(body: unknown): PatchSessionRequest {
  return readBody(PATCH_SESSION_BODY, body);
}

/** @throws InvalidRequestError */
export function readRewindSessionRequest(body: unknown): RewindSessionRequest {
  return readBody(REWIND_SESSION_BODY, body);
}

/**
 * Reads a body by its shape: keys in either spelling, nulls left out, unknown keys ignored.
 * @throws InvalidRequestError that names each path at fault and what it must be: `newMessage.parts[0].text: must be a string, is the number 5`
 */
function readBody<T>(shape: Field<T>, body: unknown): T {
  if (!isRecord(body)) throw new InvalidRequestError(`body: must be an object, is ${describeKind(body)}`);
  const read: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, field] of Object.entries(shape.fields ?? {})) {
    const given = givenUnder(name, body);
    if (given === undefined) {
      if (field.isRequired) faults.push(`${name}: ${faultOf(field, undefined)}`);
      continue;
    }
    try {
      read[name] = readMember(field, given, name, faults);
    } catch (error) {
      if (!InvalidEventError.isInstance(error)) throw error;
      faults.push(error.message);
    }
  }
  if (faults.length === 0) return read as T;
  const more = faults.length - MAX_FAULTS;
  throw new InvalidRequestError(faults.slice(0, MAX_FAULTS).join('; ') + (more > 0 ? `; and ${more} more` : ''));
}

function readMember(field: Field, given: unknown, name: string, faults: string[]): unknown {
  if (field === CONTENT) return readContent(given, name, faults);
  if (field.item?.name === 'Event' && Array.isArray(given)) {
    return given.map((event, at) => readEvent(event, `${name}[${at}]`, faults));
  }
  return readField(field, given, name, faults);
}

/** What a body has under a key, or under the same in snake_case; undefined for null. */
function givenUnder(key: string, body: Readonly<Record<string, unknown>>): unknown {
  const snakeKey = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  for (const name of [key, snakeKey]) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}
