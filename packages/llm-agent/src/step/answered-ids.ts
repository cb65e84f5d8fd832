import { type Event, getFunctionResponses } from '@eventloom/core';

/** The ids of the calls that the user's newest message answers; none when it is no message of function responses. */
export function answeredIds(events: readonly Event[]): readonly string[] {
  const message = events.findLast(({ author }) => author === 'user');
  return message ? getFunctionResponses(message).map(({ id = '' }) => id) : [];
}
