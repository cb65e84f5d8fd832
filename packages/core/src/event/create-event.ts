import { type Event, ObjectType } from './event.ts';
import { createEventActions, type EventActions } from './event-actions.ts';

/** Everything an event may have, all of it optional. */
export type EventParams = Omit<Partial<Event>, 'actions'> & { readonly actions?: Partial<EventActions> };

/**
 * An event with what is given. A missing id, timestamp, invocation id and author stay empty (`''`, 0) and are filled in by the
 * runner when the event is yielded, from its own clock and id source.
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

/** An error event: `type` is its code, in both the ADK's fields and ours. */
export function createErrorEvent(params: EventParams, type: string, message: string): Event {
  return createEvent({
    ...params,
    object: ObjectType.error,
    errorCode: type,
    errorMessage: message,
    error: { type, message },
  });
}
