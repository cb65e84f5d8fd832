import {
  AgentError,
  createErrorEvent,
  type Event,
  EventloomError,
  type InvocationContext,
  reportTo,
  RunAbortedError,
  SessionNotFoundError,
  StaleWriterError,
} from '@eventloom/core';
import type { RunScope } from './run.ts';

/**
 * What a run throws: why it was aborted, Eventloom's own errors as they are, anything else as the cause of an AgentError.
 * @param failed the agent that failed, where one did
 */
export function toRunError(
  thrown: unknown,
  abortReason: EventloomError | undefined,
  failed?: InvocationContext,
): EventloomError {
  // Work that was under way fails with an error of its own; the abort says why.
  return abortReason ?? AgentError.around(thrown, failed ? `agent "${failed.agent.name}"` : 'the run');
}

/** Failures after which nothing can or should be written. */
const UNTOLD = [RunAbortedError, StaleWriterError, SessionNotFoundError];

/** True for a failure of which the log is not told: the run was stopped and did not come to its end. */
export function isUntold(failure: EventloomError): boolean {
  return UNTOLD.some((type) => type.isInstance(failure));
}

/**
 * The committed error event of a failed run; none when one tells of it already, or none can be written.
 * @param failed the agent that failed, or the one that had control where that is not known
 */
export async function tellFailure(
  { context, committer }: RunScope,
  failure: EventloomError,
  thrown: unknown,
  failed: InvocationContext,
): Promise<Event | undefined> {
  if (context.isReported(thrown) || isUntold(failure)) return undefined;
  // What the service called it, where it did: a ModelError, a LiveConnectionError.
  const code = 'errorCode' in failure && typeof failure.errorCode === 'string' ? failure.errorCode : failure.code;
  const event = committer.complete(createErrorEvent(failed.createEvent(), code, failure.publicMessage));
  try {
    return await committer.commit(event);
  } catch (error) {
    if (error !== thrown) reportTo(context.platform, error);
  }
  // A plugin that fails on events must not keep the failure from being told.
  try {
    return await committer.append(event);
  } catch (error) {
    reportTo(context.platform, error);
    return undefined;
  }
}

/** Tells every plugin of the failure. What one throws about it does not take the place of the failure. */
export async function tellPlugins(context: InvocationContext, failure: EventloomError): Promise<void> {
  if (!context.plugins.has('onRunErrorCallback')) return;
  for (const plugin of context.plugins.plugins) {
    try {
      await plugin.onRunErrorCallback({ invocationContext: context, error: failure });
    } catch (error) {
      reportTo(context.platform, error);
    }
  }
}
