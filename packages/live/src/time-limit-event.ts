import { createErrorEvent, type Event, type InvocationContext } from '@eventloom/core';

/** The code of the event that tells of the end of a run whose service gives a session no more time. */
const SESSION_TIME_LIMIT = 'SESSION_TIME_LIMIT';

/** Tells why a run ends whose service gives its session no more time. */
export function timeLimitEvent(context: InvocationContext): Event {
  return createErrorEvent(
    context.createEvent(),
    SESSION_TIME_LIMIT,
    'the service ended the session: its time is over, and runConfig.liveReconnect is false',
  );
}
