import {
  type Content,
  createEventActions,
  type Event,
  type EventActions,
  REQUEST_CREDENTIAL,
  type ToolConfirmation,
  type VendorValue,
} from '@eventloom/core';
import { copyPlain } from '@eventloom/llm-agent/internal';
import type { AdkGroundingMetadata, Assignable } from './adk-types.ts';

/** The actions of an event, as programs that were written for `@google/adk` read them: the requests to a person are always there. */
export interface AdkEventActions extends EventActions {
  /** Requests for credentials, by function call id. Empty if there are none. */
  requestedAuthConfigs: Record<string, unknown>;
  /** Requests for a confirmation, by function call id. Empty if there are none. */
  requestedToolConfirmations: Record<string, ToolConfirmation>;
}

/** An event, as programs that were written for `@google/adk` type it: the fields of the object that a program has can be assigned. */
export interface AdkEvent extends Assignable<
  Omit<Event, 'content' | 'finishReason' | 'groundingMetadata' | 'longRunningToolIds'>
> {
  content?: Content;
  /** Reason why the model stopped, a `FinishReason` of `@google/genai`. */
  finishReason?: VendorValue;
  /** Sources of the reply, for example of Google Search. */
  groundingMetadata?: AdkGroundingMetadata;
  /** Ids of the calls in this event whose result comes later. Absent or empty: none. */
  longRunningToolIds?: readonly string[];
}

/** An event of a runner or of `createEvent`: fields that an event of `eventloom` leaves out are there, and empty. */
export interface AdkRunEvent extends AdkEvent {
  actions: AdkEventActions;
  /** Ids of the calls in this event whose result comes later. Empty if there are none. */
  longRunningToolIds: readonly string[];
}

/**
 * Defines a field that an event does not have. It is not enumerable, so the JSON and the copies of an event leave it out, as the stored event does. A
 * value that a program assigns is enumerable.
 */
function defineAbsent(owner: object, name: string, value: unknown): void {
  const set = (assigned: unknown): void => {
    Object.defineProperty(owner, name, { value: assigned, writable: true, enumerable: true, configurable: true });
  };
  Object.defineProperty(owner, name, { get: () => value, set, configurable: true });
}

const NO_IDS = Object.freeze([]);
const NO_REQUESTS = Object.freeze({});

/**
 * Returns a copy of an event that a program may change, and that also has the fields which every event of `@google/adk` has, and which an event here leaves
 * out if they are empty.
 * @param isStreamed true in a run whose readers get chunks: `partial` of the whole reply of a model is then false
 */
export function toAdkEvent(event: Event, isStreamed = false): AdkRunEvent {
  const copy = copyFields(event) as AdkRunEvent;
  const { actions, content } = copy;
  if (!actions.requestedAuthConfigs) defineAbsent(actions, 'requestedAuthConfigs', NO_REQUESTS);
  if (!actions.requestedToolConfirmations) defineAbsent(actions, 'requestedToolConfirmations', NO_REQUESTS);
  if (content && event.longRunningToolIds) addAdkArguments(content);
  if (!event.longRunningToolIds) defineAbsent(copy, 'longRunningToolIds', NO_IDS);
  if (isStreamed && event.partial === undefined && event.responseId !== undefined) defineAbsent(copy, 'partial', false);
  return copy;
}

/** Copies an event, whose fields are copied at all depths. Values that are neither plain objects nor lists are shared. */
function copyFields(event: Event): object {
  const copy = { ...event };
  for (const key of Object.keys(copy)) Reflect.set(copy, key, copyPlain<unknown>(Reflect.get(copy, key)));
  return copy;
}

/** Gives the requests for a credential in a content their arguments under the names of the ADK too, to be read and changed. */
function addAdkArguments({ parts = [] }: Content): void {
  for (const { functionCall } of parts) {
    if (functionCall?.name !== REQUEST_CREDENTIAL || !functionCall.args) continue;
    const { args } = functionCall;
    Object.defineProperty(args, 'auth_config', { value: structuredClone(args['authConfig']) });
    Object.defineProperty(args, 'function_call_id', { value: args['functionCallId'] });
  }
}

/**
 * Creates the `actions` of an event as `createEventActions` of `@eventloom/core` does, with empty requests to a person where these are absent, for programs
 * that were written for `@google/adk`.
 */
export function createAdkEventActions(actions?: Partial<EventActions>): AdkEventActions {
  return { requestedAuthConfigs: {}, requestedToolConfirmations: {}, ...createEventActions(actions) };
}
