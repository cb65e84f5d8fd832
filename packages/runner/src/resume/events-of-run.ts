import { type Event, newestFirst, ObjectType } from '@eventloom/core';

/** What counts of an invocation, in order: nothing when the session does not have it, or was rewound to before it. */
export function eventsOfRun(events: readonly Event[], invocationId: string): Event[] {
  const own: Event[] = [];
  for (const event of newestFirst(events)) if (event.invocationId === invocationId) own.push(event);
  return own.reverse();
}

/** True when a resumable run came to its end, failed or was given up: it is never resumed. */
export function isRunOver(events: readonly Event[]): boolean {
  return events.some(({ object }) => object === ObjectType.runnerEnd);
}
