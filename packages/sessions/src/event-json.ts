import { type Event, InvalidEventError } from '@eventloom/core';

/** An event as JSON. @throws InvalidEventError for one that is none */
export function eventToJson(event: Event): string {
  try {
    return JSON.stringify(event);
  } catch (cause) {
    throw new InvalidEventError(`event ${JSON.stringify(event.id)} is not JSON`, { cause });
  }
}
