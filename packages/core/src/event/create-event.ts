import { type Event, ObjectType } from './event.ts';
import { createEventActions, type EventActions } from './event-actions.ts';

/** Fields of an event, all of them optional. */
export type EventParams = Omit<Partial<Event>, 'actions'> & { readonly actions?: Partial<EventActions> };

/**
 * Creates an event from the given fields. A missing id, invocation id and author are `''`, and a missing timestamp is 0; the
 * runner fills them in when the event is yielded. `context.createEvent` fills them in at once.
 *
 * @example
 * yield createEvent({
 *   content: { role: 'model', parts: [{ text: 'Done.' }] },
 *   actions: { stateDelta: { status: 'done' } },
 * });
 */
export function createEvent(params: EventParams = {}): Event {
  return {
    ...params,
    id: params.id ?? '',
    invocationId: params.invocationId ?? '',
    author: params.author ?? '',
    timestamp: params.timestamp ?? 0,
    actions: createEventActions(params.actions),
  };
}

/** Creates an error event. `type` becomes `errorCode` and `error.type`, `message` becomes `errorMessage` and `error.message`. */
export function createErrorEvent(params: EventParams, type: string, message: string): Event {
  return createEvent({
    ...params,
    object: ObjectType.error,
    errorCode: type,
    errorMessage: message,
    error: { type, message },
  });
}
