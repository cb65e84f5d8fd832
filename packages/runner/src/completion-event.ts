import { createEvent, type Event, type EventloomError, ObjectType, RunAbortedError } from '@eventloom/core';
import type { Run } from './run.ts';
import type { Runner } from './runner.ts';

/** The event that ends the stream of a run that asked for it, also of one that did not begin: it says how the run ended and is stored nowhere. */
export function completionEvent(
  { appName: author, platform }: Runner,
  { invocationId, config }: Run,
  failure: EventloomError | undefined,
): Event {
  const { requestId, customMetadata } = config;
  const outcome = failure === undefined ? 'completed' : RunAbortedError.isInstance(failure) ? 'aborted' : 'failed';
  return createEvent({
    id: platform.newEventId(),
    invocationId,
    executionId: invocationId,
    author,
    timestamp: platform.now() / 1000,
    object: ObjectType.runnerCompletion,
    customMetadata: { ...customMetadata, outcome },
    ...(requestId === undefined ? {} : { requestId }),
  });
}
