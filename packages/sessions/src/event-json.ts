import { type Event, InvalidEventError } from '@eventloom/core';

/** Converts an event to JSON. @throws InvalidEventError if it is not an event */
export function eventToJson(event: Event): string {
  try {
    return JSON.stringify(event);
  } catch (cause) {
    throw new InvalidEventError(`event ${JSON.stringify(event.id)} is not JSON`, { cause });
  }
}
