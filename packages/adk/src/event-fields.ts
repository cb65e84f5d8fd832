import { copyPlain } from '@eventloom/core/internal';
import {
  type Content,
  createEventActions,
  type Event,
  type EventActions,
  REQUEST_CREDENTIAL,
  type ToolConfirmation,
  type VendorValue,
} from '@eventloom/core';
import type { AdkCitationMetadata, AdkGroundingMetadata, Assignable } from './adk-types.ts';

/** The actions of an event, as programs that were written for `@google/adk` read them: the requests to a person are always there. */
interface AdkEventActions extends EventActions {
  /** Requests for credentials, by function call id. Empty if there are none. */
  requestedAuthConfigs: Record<string, VendorValue>;
  /** Requests for a confirmation, by function call id. Empty if there are none. */
  requestedToolConfirmations: Record<string, ToolConfirmation>;
}

/** An event, as programs that were written for `@google/adk` type it: the fields of the object that a program has can be assigned. */
export interface AdkEvent extends Assignable<
  Omit<Event, 'citationMetadata' | 'content' | 'finishReason' | 'groundingMetadata' | 'longRunningToolIds'>
> {
  content?: Content;
  /** Reason why the model stopped, a `FinishReason` of `@google/genai`. */
  finishReason?: VendorValue;
  /** Citations in the reply. */
  citationMetadata?: AdkCitationMetadata;
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
 * Returns a copy of an event that a program may change, and that also has the fields which every event of `@google/adk`
 * has, and which an event here leaves out if they are empty. Values in it that are neither plain objects nor lists are
 * shared.
 * @param isStreamed true in a run whose readers get chunks: `partial` of the whole reply of a model is then false
 */
export function toAdkEvent(event: Event, isStreamed = false): AdkRunEvent {
  const copy = copyPlain<Event>(event) as AdkRunEvent;
  const { actions, content } = copy;
  actions.requestedAuthConfigs ??= {};
  actions.requestedToolConfirmations ??= {};
  if (content && event.longRunningToolIds) addAdkArguments(content);
  copy.longRunningToolIds ??= [];
  if (isStreamed && event.responseId !== undefined) copy.partial ??= false;
  return copy;
}

/** Gives the requests for a credential in a content their arguments under the names of the ADK too, to be read and changed. */
function addAdkArguments({ parts = [] }: Content): void {
  for (const { functionCall } of parts) {
    if (functionCall?.name !== REQUEST_CREDENTIAL || !functionCall.args) continue;
    const { args } = functionCall;
    args['auth_config'] ??= structuredClone(args['authConfig']);
    args['function_call_id'] ??= args['functionCallId'];
  }
}

/**
 * Creates the `actions` of an event as `createEventActions` of `@eventloom/core` does, with empty requests to a person
 * where these are absent, for programs that were written for `@google/adk`.
 */
export function createAdkEventActions(actions?: Partial<EventActions>): AdkEventActions {
  return { requestedAuthConfigs: {}, requestedToolConfirmations: {}, ...createEventActions(actions) };
}
