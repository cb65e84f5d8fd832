import {
  type Content,
  createEventActions,
  type Event,
  type EventActions,
  REQUEST_CREDENTIAL,
  type ToolConfirmation,
} from '@eventloom/core';

/** The actions of an event, as programs that were written for `@google/adk` read them: the requests to a person are always there. */
export interface AdkEventActions extends EventActions {
  /** Requests for credentials, by function call id. Empty if there are none. */
  requestedAuthConfigs: Record<string, unknown>;
  /** Requests for a confirmation, by function call id. Empty if there are none. */
  requestedToolConfirmations: Record<string, ToolConfirmation>;
}

/** An event, as programs that were written for `@google/adk` read it: fields that an event of `eventloom` leaves out are there, and empty. */
export interface AdkEvent extends Event {
  readonly actions: AdkEventActions;
  /** Ids of the calls in this event whose result comes later. Empty if there are none. */
  readonly longRunningToolIds: readonly string[];
}

/** The values of absent fields. They are not enumerable, so the JSON and the copies of an event leave them out, as the stored event does. */
const NO_IDS = { value: Object.freeze([]) };
const NO_REQUESTS = { value: Object.freeze({}) };
const WHOLE = { value: false };

/**
 * Returns a copy of an event that also has the fields which every event of `@google/adk` has, and which an event here leaves out if they are empty.
 * @param isStreamed true in a run whose readers get chunks: `partial` of the whole reply of a model is then false
 */
export function toAdkEvent(event: Event, isStreamed = false): AdkEvent {
  const { requestedAuthConfigs, requestedToolConfirmations } = event.actions;
  const actions = { ...event.actions };
  if (!requestedAuthConfigs) Object.defineProperty(actions, 'requestedAuthConfigs', NO_REQUESTS);
  if (!requestedToolConfirmations) Object.defineProperty(actions, 'requestedToolConfirmations', NO_REQUESTS);
  const copy = { ...event, actions };
  if (copy.content && event.longRunningToolIds) copy.content = withAdkArguments(copy.content);
  if (!event.longRunningToolIds) Object.defineProperty(copy, 'longRunningToolIds', NO_IDS);
  if (isStreamed && event.partial === undefined && event.responseId !== undefined)
    Object.defineProperty(copy, 'partial', WHOLE);
  return copy as AdkEvent;
}

/** Returns a content whose requests for a credential also have their arguments under the names of the ADK, to be read and changed. */
function withAdkArguments(content: Content): Content {
  const parts = content.parts?.map((part) => {
    const { functionCall } = part;
    if (functionCall?.name !== REQUEST_CREDENTIAL) return part;
    const args = { ...functionCall.args };
    Object.defineProperty(args, 'auth_config', { value: structuredClone(args['authConfig']) });
    Object.defineProperty(args, 'function_call_id', { value: args['functionCallId'] });
    return { ...part, functionCall: { ...functionCall, args } };
  });
  return parts ? { ...content, parts } : content;
}

/**
 * Creates the `actions` of an event as `createEventActions` of `@eventloom/core` does, with empty requests to a person where these are absent, for programs
 * that were written for `@google/adk`.
 */
export function createAdkEventActions(actions?: Partial<EventActions>): AdkEventActions {
  return { requestedAuthConfigs: {}, requestedToolConfirmations: {}, ...createEventActions(actions) };
}
