import type { Content, FunctionCall, FunctionResponse, Part } from '../content/content.ts';
import {
  copyField,
  isEmptyObject,
  isPlainObject,
  isSealedAs,
  type JsonWalk,
  markSealed,
  NOTHING,
} from '../content/json-walk.ts';
import { InvalidEventError } from '../errors.ts';
import { type Event, STRUCTURED_OUTPUT } from './event.ts';
import type { EventActions } from './event-actions.ts';
import { ACTIONS, CONTENT, EVENT, PART } from './event-shape.ts';
import { DATA, type Field, SECONDS } from './field.ts';

/** How to seal. */
export interface SealEventOptions {
  /** Also check that bytes are base64. Default false: they come from whoever encoded them, and may be many. */
  readonly checkBytes?: boolean;
}

/**
 * The event as it is stored: a copy that is JSON, whose every known field is what its type says, and that nobody can change,
 * because every object in it is frozen. A known field that is null is left out, as in `parseEvent`; unknown fields are kept. The given
 * event stays its owner's. What `sealContent` and `sealJson` returned is shared and not copied again. The structured output, which is
 * not JSON, is carried over as it is.
 *
 * @throws InvalidEventError that names the path of what is not JSON, of another type than it must be, or missing
 */
export function sealEvent(event: Event, { checkBytes = false }: SealEventOptions = {}): Event {
  const copy = (checkBytes ? undefined : sealUsualEvent(event)) ?? sealByField(EVENT, event, 'event', 0, checkBytes);
  const output = event[STRUCTURED_OUTPUT];
  return output === undefined ? copy : Object.freeze({ ...copy, [STRUCTURED_OUTPUT]: output });
}

/**
 * A message as it is stored: a frozen copy that events share.
 * @throws InvalidEventError that names the path at fault
 */
export function sealContent(content: Content): Content {
  const copy = sealUsualContent(content) ?? sealByField(CONTENT, content, 'content', 1, false);
  markSealed(copy, CONTENT);
  return copy;
}

function sealByField<T extends object>(field: Field<T>, value: T, root: string, depth: number, checkBytes: boolean): T {
  const walk: JsonWalk = { freezes: true, toJson: false, checkBytes, reason: undefined, keys: [] };
  const copy = copyField(value, walk, depth, field) as T | undefined;
  if (!copy) {
    const path = walk.keys.reduce(
      (at: string, key) => (typeof key === 'number' ? `${at}[${key}]` : `${at}.${key}`),
      root,
    );
    throw new InvalidEventError(`${path}: ${walk.reason}`, { path });
  }
  return copy;
}

/*
 * Nearly every event is a text, a call or a response, with empty actions and a few fields beside. The functions below copy such an
 * event in a third of the time of the walk by fields. They return undefined for anything else, whatever is wrong or unusual about it:
 * the walk decides, and words the fault. A test compares the two.
 */

/** A walk whose fault nobody reads. It is written to only when it fails. */
const walk: JsonWalk = { freezes: true, toJson: false, checkBytes: false, reason: undefined, keys: [] };

const NO_ACTIONS: EventActions = Object.freeze({ stateDelta: NOTHING, artifactDelta: NOTHING });

function sealUsualEvent(event: Event): Event | undefined {
  if (!isPlainObject(event)) return undefined;
  const { id, invocationId, author, executionId, content: given } = event;
  if (!isText(id) || !isText(invocationId) || !isText(author) || !isText(executionId)) return undefined;
  const timestamp = sealMember(event.timestamp, 1, SECONDS);
  if (timestamp === undefined) return undefined;
  const actions = sealUsualActions(event.actions);
  const content = given && sealUsualContent(given);
  if (!actions || (!content && given !== undefined)) return undefined;
  const copy: Record<string, unknown> = content
    ? { id, invocationId, author, timestamp, executionId, content, actions }
    : { id, invocationId, author, timestamp, executionId, actions };
  for (const key in event) {
    switch (key) {
      case 'id':
      case 'invocationId':
      case 'author':
      case 'timestamp':
      case 'executionId':
      case 'content':
      case 'actions':
        continue;
    }
    const value = event[key as keyof Event];
    if (value === undefined) continue;
    const field = EVENT.fields?.[key];
    const sealed = field && value !== null ? sealMember(value, 1, field) : undefined;
    if (sealed === undefined) return undefined;
    copy[key] = sealed;
  }
  return Object.freeze(copy) as unknown as Event;
}

function sealUsualActions(actions: EventActions): EventActions | undefined {
  if (!isPlainObject(actions)) return undefined;
  for (const key in actions) {
    const value = actions[key as keyof EventActions];
    if ((key === 'stateDelta' || key === 'artifactDelta') && isEmptyObject(value)) continue;
    return sealMember(actions, 1, ACTIONS);
  }
  const isWhole = Object.hasOwn(actions, 'stateDelta') && Object.hasOwn(actions, 'artifactDelta');
  return isWhole ? NO_ACTIONS : undefined;
}

function sealUsualContent(content: Content): Content | undefined {
  if (!isPlainObject(content)) return undefined;
  if (isSealedAs(CONTENT, content)) return content;
  const { role, parts } = content;
  if (!isText(role) || !Array.isArray(parts) || !hasOnly(content, 'role', 'parts')) return undefined;
  const copies = parts.slice();
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const copy = part && (sealUsualPart(part) ?? sealMember(part, 3, PART));
    if (!copy) return undefined;
    copies[index] = copy;
  }
  Object.freeze(copies);
  return Object.freeze({ role, parts: copies });
}

function sealUsualPart(part: Part): Part | undefined {
  if (!isPlainObject(part)) return undefined;
  const { text, functionCall, functionResponse } = part;
  if (isText(text)) return hasOnly(part, 'text') ? Object.freeze({ text }) : undefined;
  if (functionCall) return hasOnly(part, 'functionCall') ? sealUsualCall(functionCall) : undefined;
  if (functionResponse) return hasOnly(part, 'functionResponse') ? sealUsualResponse(functionResponse) : undefined;
  return undefined;
}

function sealUsualCall(call: FunctionCall): Part | undefined {
  if (!isPlainObject(call) || !hasOnly(call, 'id', 'name', 'args')) return undefined;
  const { id, name } = call;
  const args = call.args && sealMember(call.args, 5, DATA);
  return isText(id) && isText(name) && args
    ? Object.freeze({ functionCall: Object.freeze({ id, name, args }) })
    : undefined;
}

function sealUsualResponse(called: FunctionResponse): Part | undefined {
  if (!isPlainObject(called) || !hasOnly(called, 'id', 'name', 'response')) return undefined;
  const { id, name } = called;
  const response = called.response && sealMember(called.response, 5, DATA);
  return isText(id) && isText(name) && response
    ? Object.freeze({ functionResponse: Object.freeze({ id, name, response }) })
    : undefined;
}

/** The frozen copy of a value so deep in the event; undefined for one that is not what the field says. */
function sealMember<T>(value: T, depth: number, field: Field): T | undefined {
  const copy = copyField(value, walk, depth, field);
  if (copy === undefined) {
    walk.reason = undefined;
    walk.keys.length = 0;
  }
  return copy as T | undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** True for an object with no keys but these. */
function hasOnly(value: object, one: string, two?: string, three?: string): boolean {
  for (const key in value) if (key !== one && key !== two && key !== three) return false;
  return true;
}
