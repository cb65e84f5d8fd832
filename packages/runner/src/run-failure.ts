import {
  AgentError,
  createErrorEvent,
  createEvent,
  type Event,
  EventloomError,
  type InvocationContext,
  ObjectType,
  reportTo,
  RunAbortedError,
  type RunConfig,
  SessionNotFoundError,
  StaleWriterError,
} from '@eventloom/core';
import type { EventCommitter } from './event-committer.ts';
import type { Runner } from './runner.ts';

/**
 * The error that a run throws: the reason that it was aborted for, an error of Eventloom's own as it is, and anything else as the cause of
 * an AgentError.
 *
 * @param failed the context of the agent that failed, where one did
 */
export function toRunError(
  thrown: unknown,
  abortReason: EventloomError | undefined,
  failed?: InvocationContext,
): EventloomError {
  // Work that is under way when the run is aborted fails with errors of its own.
  return abortReason ?? AgentError.around(thrown, failed ? `agent "${failed.agent.name}"` : 'the run');
}

/** Failures after which the run can write nothing, or must not. */
const UNRECORDABLE = [RunAbortedError, StaleWriterError, SessionNotFoundError];

/** True for a failure that is not stored: the run was stopped, and did not come to its end. */
export function isUnrecordable(failure: EventloomError): boolean {
  return UNRECORDABLE.some((type) => type.isInstance(failure));
}

/** A failure in the session. */
export interface StoredFailure {
  /** The error event, to be yielded; undefined when the stream has one already, or it could not be stored. */
  readonly event: Event | undefined;
  /** False when the run is resumable and its end could not be stored. */
  readonly isRecorded: boolean;
}

/**
 * Stores the error event of a failed run, and its end if it is resumable. Storage that fails meanwhile is reported to the platform: it
 * must not replace the failure.
 *
 * @param failed the agent that failed, or the one that had control
 */
export async function storeFailure(
  context: InvocationContext,
  committer: EventCommitter,
  failure: EventloomError,
  thrown: unknown,
  failed: InvocationContext,
): Promise<StoredFailure> {
  if (isUnrecordable(failure)) return { event: undefined, isRecorded: false };
  const event = context.isReported(thrown)
    ? undefined
    : await storeErrorEvent(context, committer, failure, thrown, failed);
  if (!context.isResumable) return { event, isRecorded: true };
  try {
    await committer.append(committer.endEvent());
    return { event, isRecorded: true };
  } catch (error) {
    reportTo(context.platform, error);
    return { event, isRecorded: false };
  }
}

async function storeErrorEvent(
  { platform }: InvocationContext,
  committer: EventCommitter,
  failure: EventloomError,
  thrown: unknown,
  failed: InvocationContext,
): Promise<Event | undefined> {
  // A ModelError and a LiveConnectionError have the service's own code.
  const code = 'errorCode' in failure && typeof failure.errorCode === 'string' ? failure.errorCode : failure.code;
  const event = committer.complete(createErrorEvent(failed.createEvent(), code, failure.publicMessage));
  try {
    return await committer.commit(event);
  } catch (error) {
    if (error !== thrown) reportTo(platform, error);
  }
  // A plugin that fails on events must not keep the failure out of the session.
  try {
    return await committer.append(event);
  } catch (error) {
    reportTo(platform, error);
    return undefined;
  }
}

/** Calls `onRunErrorCallback` of every plugin. Errors of these callbacks are reported to the platform and do not replace the failure. */
export async function notifyPlugins(context: InvocationContext, failure: EventloomError): Promise<void> {
  if (!context.plugins.has('onRunErrorCallback')) return;
  for (const plugin of context.plugins.plugins) {
    try {
      await plugin.onRunErrorCallback({ invocationContext: context, error: failure });
    } catch (error) {
      reportTo(context.platform, error);
    }
  }
}

/** The last event of a stream that asked for one: says how the run ended. Never stored. */
export function completionEvent(
  { appName: author, platform }: Runner,
  { requestId, customMetadata }: RunConfig = {},
  invocationId: string,
  failure: EventloomError | undefined,
): Event {
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
