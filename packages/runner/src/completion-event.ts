import { createEvent, type Event, type EventloomError, ObjectType, RunAbortedError } from '@eventloom/core';
import type { Run, RunScope } from './run.ts';
import type { Runner } from './runner.ts';

/** The event that ends the stream of a run that asked for it: it says how the run ended and is stored nowhere. */
export function completionEvent({ context, committer }: RunScope, failure: EventloomError | undefined): Event {
  const outcome = failure === undefined ? 'completed' : RunAbortedError.isInstance(failure) ? 'aborted' : 'failed';
  const object = ObjectType.runnerCompletion;
  return committer.complete(context.createEvent({ author: context.appName, object, customMetadata: { outcome } }));
}

/** The same for a run that was aborted before it began. One that is refused has no stream. */
export function completionOfUnbegun({ appName: author, platform }: Runner, { invocationId, config }: Run): Event {
  const { requestId, customMetadata } = config;
  return createEvent({
    id: platform.newEventId(),
    invocationId,
    executionId: invocationId,
    author,
    timestamp: platform.now() / 1000,
    object: ObjectType.runnerCompletion,
    customMetadata: { ...customMetadata, outcome: 'aborted' },
    ...(requestId === undefined ? {} : { requestId }),
  });
}
