import type { Content, FunctionCall, FunctionResponse, Part } from '../content/content.ts';
import { copyValue, isPlainObject, JsonWalk, type JsonWalkOptions, NOTHING, SealMark } from '../content/copy-json.ts';
import { InvalidEventError } from '../errors.ts';
import { type Event, STRUCTURED_OUTPUT } from './event.ts';
import { isCommonField } from './create-event.ts';
import type { EventActions } from './event-actions.ts';
import { ACTIONS, CONTENT, EVENT, PART } from './event-shape.ts';
import { DATA, faultOf, type Field, SECONDS } from './field.ts';

/** Options of sealing. */
interface SealEventOptions {
  /**
   * True also checks that bytes are base64. Default false: the encoder is responsible for them, and there may be many.
   */
  readonly checkBytes?: boolean;
}

/**
 * Returns the stored form of an event: a deeply frozen JSON copy, with the types of all known fields checked. Leaves out known
 * fields that are null, like `parseEvent`, and keeps unknown fields. Does not change the given event. Values of `sealContent` and
 * `sealJson` are not copied again. The structured output, which need not be JSON, is kept as it is.
 *
 * @throws InvalidEventError that names the path of a value that is not JSON, has the wrong type, or is missing
 */
export function sealEvent(event: Event, { checkBytes = false }: SealEventOptions = {}): Event {
  const copy =
    (checkBytes ? undefined : sealUsualEvent(event)) ?? sealByField(EVENT, event, 'event', 0, { checkBytes });
  const output = event[STRUCTURED_OUTPUT];
  return output === undefined ? copy : Object.freeze({ ...copy, [STRUCTURED_OUTPUT]: output });
}

/**
 * Returns the stored form of a content: a deeply frozen copy that events share.
 * @throws InvalidEventError that names the invalid path
 */
export function sealContent(content: Content): Content {
  return sealUsualContent(content, true) ?? sealByField(CONTENT, content, 'content', 1, { marks: true });
}

function sealByField<T extends object>(
  field: Field<T>,
  value: T,
  root: string,
  depth: number,
  { marks = false, checkBytes = false }: Partial<JsonWalkOptions>,
): T {
  const walk = new JsonWalk({ freezes: true, marks, checkBytes });
  const copy = copyValue(value, walk, depth, field) as T | undefined;
  if (!copy) {
    const keys = walk.keysFromRoot();
    const path = keys.reduce((at: string, key) => (typeof key === 'number' ? `${at}[${key}]` : `${at}.${key}`), root);
    throw new InvalidEventError(`${path}: ${walk.reason}`, { path });
  }
  return copy;
}

/*
 * Nearly every event is a text, a call or a response, with empty actions and a few fields beside. The functions below copy such an
 * event in a third of the time of the walk by fields. They return undefined for any other event, faulty or unusual:
 * the walk then decides, and describes the fault. A test compares the two.
 */

/** The copy of the inner values of a usual event. Its fault is not used. */
const inner = new JsonWalk({ freezes: true, marks: false, checkBytes: false });

const NO_ACTIONS: EventActions = Object.freeze({ stateDelta: NOTHING, artifactDelta: NOTHING });

function sealUsualEvent(event: Event): Event | undefined {
  if (!isPlainObject(event)) return undefined;
  const { id, invocationId, author, timestamp, executionId, content: given } = event;
  if (typeof id !== 'string' || typeof invocationId !== 'string' || typeof author !== 'string') return undefined;
  if (typeof executionId !== 'string' || faultOf(SECONDS, timestamp) !== undefined) return undefined;
  const actions = sealUsualActions(event.actions);
  const content = given && sealUsualContent(given);
  if (!actions || (!content && given !== undefined)) return undefined;
  const copy: Record<string, unknown> = content
    ? { id, invocationId, author, timestamp: timestamp + 0, executionId, content, actions }
    : { id, invocationId, author, timestamp: timestamp + 0, executionId, actions };
  for (const key in event) {
    if (isCommonField(key)) continue;
    const value = event[key as keyof Event];
    if (value === undefined) continue;
    const field = EVENT.fields?.[key];
    const sealed = field && value !== null ? copyValue(value, inner, 1, field) : undefined;
    if (sealed === undefined) return undefined;
    copy[key] = sealed;
  }
  return Object.freeze(copy) as unknown as Event;
}

function sealUsualActions(actions: EventActions): EventActions | undefined {
  if (!isPlainObject(actions)) return undefined;
  let empty = 0;
  for (const key in actions) {
    const value = actions[key as keyof EventActions];
    const isEmptyDelta = (key === 'stateDelta' || key === 'artifactDelta') && isPlainObject(value) && hasOnly(value);
    if (!isEmptyDelta) return copyValue(actions, inner, 1, ACTIONS) as EventActions | undefined;
    empty++;
  }
  return empty === 2 ? NO_ACTIONS : undefined;
}

/** @param marks true for a content that is sealed again as a part of an event: it is then not copied again */
function sealUsualContent(content: Content, marks = false): Content | undefined {
  if (!isPlainObject(content)) return undefined;
  if (SealMark.isOn(content, CONTENT)) return content;
  const { role, parts } = content;
  if (typeof role !== 'string' || !Array.isArray(parts) || !hasOnly(content, 'role', 'parts')) return undefined;
  const copies = [...parts];
  for (let index = 0; index < copies.length; index++) {
    const part = copies[index];
    const copy = part && (sealUsualPart(part) ?? (copyValue(part, inner, 3, PART) as Part | undefined));
    if (!copy) return undefined;
    copies[index] = copy;
  }
  Object.freeze(copies);
  const copy = { role, parts: copies };
  if (marks) new SealMark(copy, CONTENT);
  return Object.freeze(copy);
}

function sealUsualPart(part: Part): Part | undefined {
  if (!isPlainObject(part)) return undefined;
  const { text, functionCall, functionResponse } = part;
  if (typeof text === 'string') return hasOnly(part, 'text') ? Object.freeze({ text }) : undefined;
  if (functionCall) return hasOnly(part, 'functionCall') ? sealUsualCall(functionCall) : undefined;
  if (functionResponse) return hasOnly(part, 'functionResponse') ? sealUsualResponse(functionResponse) : undefined;
  return undefined;
}

function sealUsualCall(call: FunctionCall): Part | undefined {
  if (!isPlainObject(call) || !hasOnly(call, 'id', 'name', 'args')) return undefined;
  const { id, name } = call;
  const args = copyValue(call.args, inner, 5, DATA) as Record<string, unknown> | undefined;
  if (typeof id !== 'string' || typeof name !== 'string' || !args) return undefined;
  return Object.freeze({ functionCall: Object.freeze({ id, name, args }) });
}

function sealUsualResponse(answer: FunctionResponse): Part | undefined {
  if (!isPlainObject(answer) || !hasOnly(answer, 'id', 'name', 'response')) return undefined;
  const { id, name } = answer;
  const response = copyValue(answer.response, inner, 5, DATA) as Record<string, unknown> | undefined;
  if (typeof id !== 'string' || typeof name !== 'string' || !response) return undefined;
  return Object.freeze({ functionResponse: Object.freeze({ id, name, response }) });
}

/** True for an object without other keys than these. */
function hasOnly(value: object, one?: string, two?: string, three?: string): boolean {
  for (const key in value) if (key !== one && key !== two && key !== three) return false;
  return true;
}
