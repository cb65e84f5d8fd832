import { misspeltName } from '../agent/nearest-names.ts';
import { InvalidEventError } from '../errors.ts';
import { describeKind, setOwn } from '../content/json.ts';
import { type Event, ObjectType, STRUCTURED_OUTPUT } from './event.ts';
import { type Platform, systemPlatform } from '../platform/platform.ts';
import type { EventActions } from './event-actions.ts';
import { EVENT } from './event-shape.ts';
import { MAX_SECONDS } from './field.ts';

/**
 * True for the fields of nearly every event. A new event and its sealed copy begin with them, in the order below, so that an engine knows
 * events by a few shapes; the other fields are copied one by one.
 */
export function isCommonField(field: string): boolean {
  switch (field as keyof Event) {
    case 'id':
    case 'invocationId':
    case 'author':
    case 'timestamp':
    case 'executionId':
    case 'content':
    case 'actions':
      return true;
    default:
      return false;
  }
}

/** Fields that belong elsewhere but are often written in an event, and the code to write instead. */
const MISPLACED: ReadonlyMap<string, string> = new Map([
  ['text', "content: { role: 'model', parts: [{ text: … }] }"],
  ['parts', "content: { role: 'model', parts: … }"],
  ['action', 'actions: { … }'],
  ['state', 'actions: { stateDelta: { … } }'],
  ['stateDelta', 'actions: { stateDelta: … }'],
  ['artifactDelta', 'actions: { artifactDelta: … }'],
  ['transferToAgent', 'actions: { transferToAgent: … }'],
  ['escalate', 'actions: { escalate: true }'],
  ['skipSummarization', 'actions: { skipSummarization: true }'],
]);

/**
 * Refuses fields that an event does not have and that would be ignored, such as `text`, misspelt fields, and text in
 * place of a content. Other unknown fields pass: events of other programs may have them.
 * @param owner start of the error message, e.g. `createEvent`
 * @throws InvalidEventError
 */
export function checkEventFields(owner: string, fields: object): void {
  for (const field in fields) checkEventField(owner, field);
  const { content } = fields as { readonly content?: unknown };
  if (typeof content === 'string')
    throw new InvalidEventError(
      `${owner}: content: expected an object, got a string; write content: { role: 'model', parts: [{ text: ${JSON.stringify(content.slice(0, 40))} }] }`,
      { path: 'content' },
    );
}

/** Checks that a field is neither one that belongs elsewhere nor a misspelt one. @throws InvalidEventError */
function checkEventField(owner: string, field: string): void {
  const { fields = {} } = EVENT;
  if (field in fields) return;
  // Events of other programs may have further fields.
  const instead = MISPLACED.get(field) ?? misspeltName(field, Object.keys(fields));
  if (instead !== undefined)
    throw new InvalidEventError(`${owner}: an event has no field "${field}"; write ${instead}`, { path: field });
}

/** Fields of an event, all of them optional. */
export type EventParams = Omit<Partial<Event>, 'actions'> & { readonly actions?: Partial<EventActions> };

/**
 * Creates an event, for tests and for events that are appended to a session outside of a run. Agents use `context.createEvent`, which
 * knows the agent and the run.
 *
 * All fields are optional. Without them `id` is a new UUID, `timestamp` is the current time, and `invocationId` and `author` are empty: the
 * runner, or `sessionService.appendEvent`, replaces these. `actions` may be given in part.
 *
 * @throws InvalidEventError for a field that is misspelt or belongs elsewhere, such as `text`, and for a `content` that is text
 *
 * @example
 * const event = createEvent({
 *   author: 'user',
 *   content: { role: 'user', parts: [{ text: 'Hello' }] },
 *   actions: { stateDelta: { greeted: true } },
 * });
 */
export function createEvent(params: EventParams = {}): Event {
  if (typeof params !== 'object' || params === null)
    throw new InvalidEventError(
      `createEvent: expected an object of fields, got ${describeKind(params)}; write createEvent({ content: { role: 'user', parts: [{ text: 'Hello' }] } })`,
    );
  checkEventFields('createEvent', params);
  const event: { -readonly [K in keyof Event]: Event[K] } = {
    ...params,
    id: params.id || systemPlatform.newEventId(),
    invocationId: params.invocationId ?? '',
    author: params.author ?? '',
    timestamp: params.timestamp ?? systemPlatform.now() / 1000,
    actions: createEventActions(params.actions),
  };
  fillKind(event);
  return event;
}

/** The part of a context that is in all events of its agent. */
interface EventOrigin {
  readonly platform: Platform;
  readonly invocationId: string;
  readonly executionId: string;
  readonly parentExecutionId: string | undefined;
  readonly branch: string | undefined;
  readonly isolationScope: string | undefined;
}

/**
 * Creates an event of an agent: implements `InvocationContext.createEvent`.
 * @param agentName the author of an event whose `params` have none
 */
export function createAgentEvent(
  { platform, invocationId, executionId, parentExecutionId, branch, isolationScope }: EventOrigin,
  agentName: string,
  params: EventParams,
  actions: EventActions | undefined,
  nowMs: number,
): Event {
  const { content } = params;
  if (typeof content === 'string') checkEventFields('createEvent', params);
  const id = params.id ?? platform.newEventId(nowMs);
  const author = params.author ?? agentName;
  const timestamp = params.timestamp ?? nowMs / 1000;
  const effects = actions ?? createEventActions(params.partial === true ? undefined : params.actions);
  // Fields that every event has come first, so that nearly all events share a few hidden classes of the engine.
  const event: { -readonly [K in keyof Event]: Event[K] } = content
    ? { id, invocationId, author, timestamp, executionId, content, actions: effects }
    : { id, invocationId, author, timestamp, executionId, actions: effects };
  for (const key in params) {
    if (isCommonField(key)) continue;
    checkEventField('createEvent', key);
    const value = params[key as keyof EventParams];
    if (value !== undefined) setOwn(event as unknown as Record<string, unknown>, key, value);
  }
  const output = params[STRUCTURED_OUTPUT];
  if (output !== undefined) event[STRUCTURED_OUTPUT] = output;
  if (branch !== undefined) event.branch = branch;
  if (isolationScope !== undefined) event.isolationScope ??= isolationScope;
  if (parentExecutionId !== undefined) event.parentExecutionId = parentExecutionId;
  fillKind(event);
  return event;
}

/**
 * Creates an error event. `type` becomes `errorCode` and `error.type`, `reason` becomes `errorMessage` and `error.message`, followed by the
 * `errorMessage` of the parameters.
 * @param code the code of the error's class, where `type` is the code of a model's service: it becomes `error.code`
 */
export function createErrorEvent(params: EventParams, type: string, reason: string, code: string = type): Event {
  const message = params.errorMessage === undefined ? reason : `${reason}; ${params.errorMessage}`;
  return createEvent({
    ...params,
    object: ObjectType.error,
    errorCode: type,
    errorMessage: message,
    error: code === type ? { type, message } : { type, message, code },
  });
}

/**
 * Returns the timestamp of an event that a program wrote, in seconds. One past the year 9999 is in milliseconds, as programs
 * for `@google/adk` give it.
 */
export function toSeconds(timestamp: number): number {
  return timestamp > MAX_SECONDS ? timestamp / 1000 : timestamp;
}

const YIELDED = new WeakSet<Event>();

/**
 * Records that an agent yielded an event that it created without a context. Returns true if the same object was yielded
 * before: it is then another event, and needs its own id and time.
 */
export function isYieldedAgain(event: Event): boolean {
  if (YIELDED.has(event)) return true;
  YIELDED.add(event);
  return false;
}

/**
 * Sets the kind of an event by one rule for all paths: `object: error` and `error` for every `errorCode`, and `object: tool.response` for
 * responses of tools. Values that the event already has are kept; other kinds are derived from the content, see `objectTypeOf`.
 */
export function fillKind(event: { -readonly [K in keyof Event]: Event[K] }): void {
  const { errorCode, content } = event;
  if (errorCode !== undefined) {
    event.object ??= ObjectType.error;
    event.error ??= { type: errorCode, message: event.errorMessage ?? '' };
    return;
  }
  // A response inside a model's reply comes from a tool that the model's service ran.
  if (event.object !== undefined || !content?.parts || content.role === 'model') return;
  for (const part of content.parts) {
    if (!part.functionResponse) continue;
    event.object = ObjectType.toolResponse;
    return;
  }
}

/**
 * Creates the `actions` of an event: a copy of the given ones, with an empty `stateDelta` and `artifactDelta` where these are absent.
 * `createEvent` and `context.createEvent` call it themselves.
 */
export function createEventActions(actions?: Partial<EventActions>): EventActions {
  if (!actions) return { stateDelta: {}, artifactDelta: {} };
  return { ...actions, stateDelta: actions.stateDelta ?? {}, artifactDelta: actions.artifactDelta ?? {} };
}

/**
 * Merges actions from left to right into a new object. The later of two writes to one key, or of two signals of one kind, wins.
 * A key that is removed and later set is set.
 */
export function mergeEventActions(sources: readonly Partial<EventActions>[]): EventActions {
  const merged = createEventActions();
  for (const source of sources) {
    const { stateDelta, removedState, artifactDelta, ...rest } = source;
    const { requestedAuthConfigs, requestedToolConfirmations, requestedInputs, ...signals } = rest;
    assignOwn(merged.stateDelta, stateDelta);
    assignOwn(merged.artifactDelta, artifactDelta);
    if (stateDelta && merged.removedState) {
      merged.removedState = merged.removedState.filter((key) => !Object.hasOwn(stateDelta, key));
    }
    if (removedState?.length) {
      for (const key of removedState) delete merged.stateDelta[key];
      merged.removedState = [...new Set([...(merged.removedState ?? []), ...removedState])];
    }
    if (requestedAuthConfigs) assignOwn((merged.requestedAuthConfigs ??= {}), requestedAuthConfigs);
    if (requestedToolConfirmations) assignOwn((merged.requestedToolConfirmations ??= {}), requestedToolConfirmations);
    if (requestedInputs) assignOwn((merged.requestedInputs ??= {}), requestedInputs);
    for (const [key, value] of Object.entries(signals)) {
      if (value !== undefined && value !== null) setOwn(merged as unknown as Record<string, unknown>, key, value);
    }
  }
  if (merged.removedState?.length === 0) delete merged.removedState;
  return merged;
}

function assignOwn<T>(target: Record<string, T>, source: Readonly<Record<string, T>> | undefined): void {
  for (const key in source) {
    if (Object.hasOwn(source, key)) setOwn(target, key, source[key] as T);
  }
}
