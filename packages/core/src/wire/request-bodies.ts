import { nearestNames, similarName } from '../agent/nearest-names.ts';
import { RUN_CONFIG_OPTIONS } from '../agent/run-config.ts';
import { getOwn, isRecord, isSameJson, weigh } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import { EVENT } from '../event/event-shape.ts';
import type { Field } from '../event/field.ts';
import { readJson } from '../event/parse-event.ts';
import { EXAMPLE_IDS } from '../session/check-name.ts';
import {
  CREATE_SESSION_BODY,
  type CreateSessionBody,
  FORK_SESSION_BODY,
  type ForkSessionBody,
  PATCH_SESSION_BODY,
  type PatchSessionBody,
  REWIND_SESSION_BODY,
  type RewindSessionBody,
  RUN_BODY,
  type RunBody,
  SAVE_ARTIFACT_BODY,
  type SaveArtifactBody,
} from './wire-shapes.ts';

/** Maximum number of faults in an error message. */
const MAX_FAULTS = 3;

/**
 * Reads the body of a run.
 * @param isStrict true refuses unknown fields. Default false: clients of the ADK may send more
 * @throws InvalidRequestError, also for a field that is an option of the run config that clients cannot set
 */
export function readRunBody(body: unknown, isStrict = false): RunBody {
  if (isRecord(body)) {
    checkNoRunConfig(body, RUN_BODY.fields ?? {});
    const text = body['newMessage'] ?? body['new_message'];
    if (typeof text === 'string')
      throw new InvalidRequestError(
        `newMessage: expected an object, got a string; write "newMessage": { "parts": [{ "text": ${JSON.stringify(text.slice(0, 40))} }] }`,
      );
  }
  return readBody(RUN_BODY, body, { others: [...OPTIONS, 'webhook'], isStrict });
}

/** Names the request field that replaces an option of the run config. */
const CLIENT_FIELDS: Readonly<Record<string, string>> = {
  responseModalities: 'modalities at /run_live',
  proactivity: 'proactive_audio at /run_live',
  sessionResumption: 'enable_session_resumption at /run_live',
};

/** Ends of the errors for options that the server does not set. */
const NOT_ON_SERVER: Readonly<Record<string, string>> = {
  streamingMode:
    'is not a field of a request; write streaming at /run_sse, and nothing at /run_live, where each run streams',
  requestId: 'is a field of a message to /run, /run_sse and /runs; remove it, because a live run has no request id',
  supportCfc: 'is not offered; remove it',
};

/** The names of all options of the run config, of the run config itself, and of an option of the ADK, in camelCase. */
const OPTIONS: readonly string[] = /* @__PURE__ */ Array.from(RUN_CONFIG_OPTIONS).concat('runConfig', 'supportCfc');
/** The same names in either spelling. */
const OPTION_NAMES: ReadonlySet<string> = /* @__PURE__ */ new Set(OPTIONS.flatMap((name) => [name, toSnakeCase(name)]));

/**
 * Refuses options of the run config in a request, in camelCase or snake_case, because a client that sends one would assume that it
 * takes effect. Null counts as absent.
 *
 * @param fields allowed fields of the request, by their names in camelCase
 * @throws InvalidRequestError that says how a server sets the option
 */
export function checkNoRunConfig(
  request: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, unknown>>,
): void {
  for (const name in request) {
    if (!OPTION_NAMES.has(name) || request[name] === null) continue;
    const option = toCamelCase(name);
    if (Object.hasOwn(fields, option)) continue;
    throw new InvalidRequestError(`${name}: ${wayToSet(option)}`);
  }
}

/** Returns the end of the error for an option of the run config in a request: it says how the option is set. */
function wayToSet(option: string): string {
  const other = getOwn(NOT_ON_SERVER, option);
  if (other !== undefined) return other;
  const instead = Object.hasOwn(CLIENT_FIELDS, option) ? `; a client writes ${CLIENT_FIELDS[option]}` : '';
  const set = option === 'runConfig' ? '…' : `{ ${option}: … }`;
  return (
    `is set on the server, not by a request; for all runs of an app write new Runner({ runConfig: ${set} }), ` +
    `for single requests use the hook runConfig of the server${instead}`
  );
}

/** Maximum number of unknown fields that are compared with known ones, and maximum length of their names. */
const MAX_COMPARED = 20;
const MAX_COMPARED_LENGTH = 40;

/**
 * Refuses a query parameter that resembles a known one or an option of the run config, as fields of a body are refused.
 *
 * @param parameters the known parameters, in camelCase
 * @throws InvalidRequestError that names the parameter to write instead
 */
export function checkParameters(query: Readonly<Record<string, unknown>>, parameters: readonly string[]): void {
  const fault = 'the query has no such parameter';
  checkFields(query, parameters, { others: OPTIONS, fault });
}

/** Options for the check of unknown fields. */
interface FieldCheck {
  /** Further names that a sender may have misspelt. A part of such a name, like `config`, is an unknown field like any other. */
  readonly others?: readonly string[];
  /**
   * True refuses every unknown field; false only those that resemble a known one, because newer clients of the ADK may
   * send others. Default false.
   */
  readonly isStrict?: boolean;
  /** The fault of an unknown field. Default: the body has no such field. */
  readonly fault?: string;
}

/**
 * Refuses unknown fields in camelCase or snake_case, and a field with another value in each spelling. Null counts as absent.
 *
 * @param fields the fields of the body
 * @throws InvalidRequestError that names the field to write instead
 */
function checkFields(
  body: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  { others = [], isStrict = false, fault = 'the body has no such field' }: FieldCheck = {},
): void {
  let compared = 0;
  for (const name in body) {
    if (body[name] === null || fields.includes(name)) continue;
    const field = toCamelCase(name);
    if (fields.includes(field)) {
      checkSameValue(body, field, name);
      continue;
    }
    const isCompared = name.length <= MAX_COMPARED_LENGTH && ++compared <= MAX_COMPARED;
    const nearest = isCompared
      ? (similarName(field, [...fields, ...others]) ?? nearestNames(field, fields)[0])
      : undefined;
    if (nearest !== undefined) {
      const isOption = OPTION_NAMES.has(nearest) && !fields.includes(nearest);
      throw new InvalidRequestError(
        `${name}: ${fault}; did you mean ${JSON.stringify(nearest)}?` + (isOption ? ` That ${wayToSet(nearest)}` : ''),
      );
    }
    if (isStrict)
      throw new InvalidRequestError(
        `${JSON.stringify(name.slice(0, MAX_COMPARED_LENGTH))}: ${fault}; remove it; GET /openapi.json has the fields`,
      );
    if (compared > MAX_COMPARED) return;
  }
}

/** Refuses two values of one field. */
function checkSameValue(body: Readonly<Record<string, unknown>>, field: string, snakeName: string): void {
  const value = getOwn(body, field) ?? null;
  if (value === null || isSameJson(value, body[snakeName])) return;
  throw new InvalidRequestError(`${snakeName}: differs from ${field}, which is the same field; write one of them`);
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Reads the body that creates a session; no body is an empty one. @throws InvalidRequestError */
export function readCreateSessionRequest(body: unknown): CreateSessionBody {
  const steps = readCreateSessionSteps(body);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Reads the same body in steps: yields after each event, with its approximate number of characters, so that the caller can let other
 * work run.
 * @throws InvalidRequestError
 */
export function* readCreateSessionSteps(body: unknown): Generator<number, CreateSessionBody, undefined> {
  const given = isRecord(body) ? body['events'] : undefined;
  if (!isRecord(body) || !Array.isArray(given)) return readBody(CREATE_SESSION_BODY, body ?? {});
  checkFields(body, Object.keys(CREATE_SESSION_BODY.fields ?? {}));
  const faults: string[] = [];
  const read = readJson(CREATE_SESSION_BODY, { ...body, events: null }, '', faults);
  const events: Event[] = [];
  for (const [index, event] of given.entries()) {
    events.push(readJson(EVENT, event, `events[${index}]`, faults));
    yield weigh(event);
  }
  if (faults.length > 0) throw invalidFieldsError(faults);
  return { ...read, events };
}

/** True for a body whose names are all fields of the body that creates a session, in either spelling. */
export function hasOnlyCreationFields(body: Readonly<Record<string, unknown>>): boolean {
  const fields = CREATE_SESSION_BODY.fields ?? {};
  return Object.keys(body).every((name) => Object.hasOwn(fields, toCamelCase(name)));
}

/** Reads the body that changes a session. @throws InvalidRequestError */
export function readPatchSessionRequest(body: unknown): PatchSessionBody {
  return readBody(PATCH_SESSION_BODY, body);
}

/** Reads the body that rewinds a session. @throws InvalidRequestError */
export function readRewindSessionRequest(body: unknown): RewindSessionBody {
  if (isRecord(body) && !Object.keys(body).some((name) => toCamelCase(name) === 'rewindBeforeInvocationId'))
    throw new InvalidRequestError(
      'rewindBeforeInvocationId: is missing; write "rewindBeforeInvocationId": "…", the invocationId of an event to undo',
    );
  return readBody(REWIND_SESSION_BODY, body, { isStrict: true });
}

/** Reads the body that copies a session up to an event. @throws InvalidRequestError */
export function readForkSessionRequest(body: unknown): ForkSessionBody {
  if (isRecord(body) && !Object.keys(body).some((name) => toCamelCase(name) === 'afterEventId'))
    throw new InvalidRequestError(
      'afterEventId: is missing; write "afterEventId": "…", the id of the last event of the copy',
    );
  return readBody(FORK_SESSION_BODY, body, { isStrict: true });
}

/** Reads the body that saves a version of an artifact. @throws InvalidRequestError */
export function readSaveArtifactRequest(body: unknown): SaveArtifactBody {
  return readBody(SAVE_ARTIFACT_BODY, body);
}

/**
 * Reads a body by its shape: keys in either spelling, without nulls.
 * @throws InvalidRequestError that names each invalid path and the expected value: `newMessage.parts[0].text: expected a string, got the
 * number 5`
 */
function readBody<T>(shape: Field<T>, body: unknown, check?: FieldCheck): T {
  if (isRecord(body)) checkFields(body, Object.keys(shape.fields ?? {}), check);
  const faults: string[] = [];
  const read = readJson(shape, body, '', faults);
  if (faults.length > 0) throw invalidFieldsError(faults);
  return read;
}

/** Creates the error for the faults of a body's fields. */
function invalidFieldsError(faults: readonly string[]): InvalidRequestError {
  const more = faults.length - MAX_FAULTS;
  const shown = faults.slice(0, MAX_FAULTS);
  return new InvalidRequestError(shown.join('; ') + (more > 0 ? `; and ${more} more` : '') + idsToWrite(shown));
}

/** Returns the code to write for ids that are missing or of a wrong kind according to the faults; empty if there are none. */
function idsToWrite(faults: readonly string[]): string {
  const ids = [...EXAMPLE_IDS].filter(([name]) => faults.some((fault) => fault.startsWith(`${name}: `)));
  return ids.length === 0 ? '' : `; write ${ids.map(([name, example]) => `"${name}": "${example}"`).join(', ')}`;
}
