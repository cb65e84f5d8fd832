import { type Event, type EventloomError, ObjectType, RunAbortedError } from '@eventloom/core';
import type { RunScope } from './run.ts';

/** The event that ends the stream of a run, when it is asked for: it says how the run ended and is stored nowhere. */
export function completionEvent(
  { context, committer }: RunScope,
  failure: EventloomError | undefined,
): Event | undefined {
  if (!context.runConfig.completionEvent) return undefined;
  const outcome = failure === undefined ? 'completed' : RunAbortedError.isInstance(failure) ? 'aborted' : 'failed';
  const object = ObjectType.runnerCompletion;
  return committer.complete(context.createEvent({ author: context.appName, object, customMetadata: { outcome } }));
}
