import {
  AgentError,
  createEvent,
  type Event,
  type EventloomError,
  type EventParams,
  EventTag,
  hasTag,
  type InvocationContext,
  isFinalResponse,
  ObjectType,
  RunAbortedError,
  type RunConfig,
  type RunOutcome,
  RunTimeoutError,
  SessionBusyError,
  ShuttingDownError,
  StaleWriterError,
  StorageError,
} from '@eventloom/core';
import {
  Calls,
  createErrorEvent,
  enclosureOf,
  errorCodeOf,
  errorOutcome,
  isUnavailable,
  isYielded,
  nameFault,
  reportTo,
  reportUnlessStopped,
  within,
} from '@eventloom/core/internal';
import { compactSession } from './compact-session.ts';
import { stampEvent } from './event-committer.ts';
import { type Ended, storeLastResponses } from './last-responses.ts';
import type { LockedRun } from './lock-run.ts';
import type { RunControl } from './run-control.ts';
import type { RunInvocation } from './run-invocation.ts';
import type { Runner } from './runner.ts';
import { isSessionLost } from './session-lock.ts';

/**
 * Returns the error of a run: the reason of its abort, an EventloomError unchanged, and anything else as the cause of an
 * AgentError. The failure of a storage becomes one that is not retryable: the failure of the run is stored, and its
 * request cannot be sent again.
 *
 * @param failed the context of the agent that failed, if one did
 */
function toRunError(
  thrown: unknown,
  abortReason: EventloomError | undefined,
  failed?: InvocationContext,
): EventloomError {
  // After an abort, work in progress fails with other errors.
  const error = abortReason ?? AgentError.around(thrown, failed ? `agent "${failed.agent.name}"` : 'the run');
  if (abortReason || !failed || !isUnavailable(error)) return error;
  const publicMessage = 'the run failed, because a storage was not available; to try again, send a new message';
  return new StorageError(error.message, { cause: error, retryable: false, publicMessage });
}

/**
 * Returns the error that the stream of a run throws. For a run whose message is not stored: if the session was taken
 * first, by another run because this process was stopped for longer than a lease, or by a cancellation in another
 * process, nothing was stored, and the message can be sent again. A storage that did not respond may have stored the
 * message: its error says so, and takes precedence over the reason of an abort.
 */
export function toStreamError(thrown: unknown, { begun, abort }: RunControl): EventloomError {
  if (!begun && isUnavailable(thrown)) return thrown;
  const error = toRunError(thrown, abort.reason);
  if (begun || !StaleWriterError.isInstance(error)) return error;
  return new SessionBusyError(
    'the session was taken before the message was stored, by another run or because this one was cancelled; nothing was stored, so send the message again unless you cancelled it',
    { cause: error },
  );
}

/**
 * The end of a run that has begun.
 *
 * | the run                                                   | `failure`       | stored by                                    |
 * | --------------------------------------------------------- | --------------- | -------------------------------------------- |
 * | yields its last event, which nothing can follow           | none            | `RunAppender.end`, together with it          |
 * | is complete, or waits for answers                         | none            | `storeCompletion`                            |
 * | fails, or is aborted                                      | the error       | `storeFailure`, and the outcome by `unlock`  |
 * | has lost its reader                                       | RunAbortedError | the same                                     |
 * | fails, and its end cannot be stored                       | the error       | nobody: the run stays open                   |
 * | is to be resumed by another process                       | the error       | nobody: the run stays open                   |
 * | is the one of a known request, which is only followed     | none            | another run                                  |
 *
 * A run whose process was lost, or that waits and is cancelled, is ended by `closeRun` and `cancelRun` (`stored-runs/close-run.ts`).
 */
export interface EndOfRun {
  /** The outcome that the session has, or gets as it is unlocked; undefined if it gets none, so that the run stays open. */
  readonly outcome: RunOutcome | undefined;
  /** The error that the stream of the run throws. */
  readonly failure?: EventloomError | undefined;
}

export const COMPLETED: RunOutcome = { state: 'completed' };
export const COMPLETED_END: EndOfRun = { outcome: COMPLETED };

/** The reason why a run did not complete. */
interface RunFailure {
  /** The error that the run throws. */
  readonly failure: EventloomError;
  /** The error that was thrown; undefined if the reader stopped reading. */
  readonly thrown?: unknown;
  /** The agent that failed, or the one that was active. */
  readonly failed?: InvocationContext | undefined;
}

/** The end of a run that failed. */
interface StoredFailure extends EndOfRun {
  /** The stored events that the reader gets: none if the run was aborted, unless it took too long. */
  readonly events: readonly Event[];
}

/**
 * Asks the plugins after the run, stores its end, and compacts its session if that is due. A resumable run that waits
 * for an answer gets no end event.
 */
export async function storeCompletion(
  runner: Runner,
  invocation: RunInvocation,
  control: RunControl,
): Promise<EndOfRun> {
  const { context, committer, appender, locked } = invocation;
  const { lock, loaded } = locked;
  if (context.plugins.has('afterRunCallback'))
    await context.whileConnected(
      control.observe(() => context.plugins.all('afterRunCallback', { invocationContext: context })),
    );
  let last = context.isResumable && !context.isPaused ? committer.endEvent() : undefined;
  if (runner.compactor) {
    if (last) await appender.append(last);
    last = undefined;
    await compactSession(runner.compactor, runner.sessionService, { context, appender, loaded });
  }
  if (last) await appender.end(last, COMPLETED);
  else await lock.end(loaded.session, COMPLETED);
  return COMPLETED_END;
}

/** Stores the end of a run that failed or was aborted: see `storeEnd`. The error is that of the run in all that observe it. */
export async function storeFailure(
  invocation: RunInvocation,
  control: RunControl,
  /** The error, and the agent that was active, if one was. */
  { thrown, agent }: { readonly thrown: unknown; readonly agent: InvocationContext | undefined },
): Promise<StoredFailure> {
  const { context } = invocation;
  const failed = context.progress.failedAt(thrown) ?? agent ?? context;
  const failure = toRunError(thrown, control.abort.reason, failed);
  control.operation?.fail(failure);
  const stored = await storeEnd(invocation, { failure, thrown, failed });
  return !control.abort.reason || RunTimeoutError.isInstance(failure) ? stored : { ...stored, events: [] };
}

/** Stores the end of a run whose reader stopped reading: see `storeEnd`. */
export function storeEndWithoutReader(invocation: RunInvocation): Promise<EndOfRun> {
  return storeEnd(invocation, { failure: new RunAbortedError('the reader of the run stopped reading') });
}

/**
 * Stores the end of a run that failed, was aborted or lost its reader: responses to its open calls, the replies that
 * the abort interrupted, as far as they were streamed, the error event, and the event that records the end of a
 * resumable run. A storage failure here is reported to the platform, so that it does not replace the failure of the
 * run. A lost session is not reported.
 *
 * A resumable run that was aborted with a ShuttingDownError stores no end: see `awaitsResume`.
 */
async function storeEnd(run: RunInvocation, reason: RunFailure): Promise<StoredFailure> {
  const { context, committer, appender, locked } = run;
  const { failure, thrown } = reason;
  const events: Event[] = [];
  const staysOpen = context.isResumable && awaitsResume(failure);
  if (staysOpen || locked.lock.lost || isSessionLost(failure)) return { failure, events, outcome: undefined };
  try {
    const isCancelled = RunAbortedError.isInstance(failure) && failure.cancelsCalls;
    events.push(...(await storeMissingResponses(run, isCancelled ? 'cancelled' : 'failed')));
    const replies = interruptedReplies(context);
    const isDone = replies.length === 0 && isComplete(run, reason);
    if (!isDone && !context.progress.isReported(thrown)) {
      // The reply of an agent that was called as a tool is not one of the run.
      if (replies.every(({ branch }) => enclosureOf(branch))) replies.push((reason.failed ?? context).createEvent());
      for (const reply of replies) events.push(await storeErrorEvent(run, reason, reply));
    }
    if (context.isResumable) await appender.append(committer.endEvent());
    return { failure, events, outcome: isDone ? COMPLETED : outcomeOf(failure) };
  } catch (error) {
    if (!isSessionLost(error)) reportTo(context.platform, error);
    return { failure, events, outcome: undefined };
  }
}

/** Returns the outcome of a run that failed with this error, for its record. */
function outcomeOf(failure: EventloomError): RunOutcome {
  const code = errorCodeOf(failure);
  return errorOutcome(nameFault(code) === undefined ? code : failure.code);
}

/** True if calls of the run, or of agents that it called as tools, may lack a response. */
export function mayLeaveCalls({ locked: { loaded, run }, appender }: RunInvocation): boolean {
  return appender.hasSubInvocations || Calls.of(loaded).mayLackResponses(run.invocationId);
}

/**
 * Stores responses to the calls that the run leaves, before it ends or waits: see `callsToRespondTo`. Agents that were called
 * as tools store nothing more. Returns the events that readers of the run get.
 */
export async function storeMissingResponses(
  { locked, context, committer, appender }: RunInvocation,
  how: Ended['how'],
): Promise<Event[]> {
  await appender.closeWithin();
  const { lock, loaded, config } = locked;
  const { invocationId } = locked.run;
  const root = context.invocation.rootAgent;
  const params = (author: string): EventParams => ({ ...context.createEvent({ author }), executionId: invocationId });
  const events: Event[] = [];
  await storeLastResponses({ lock, loaded, invocationId, root, how, params }, async (responses) => {
    for (const response of responses) events.push(await appender.append(stampEvent(response, config)));
  });
  if (how !== 'waits') return events.filter(isYielded);
  // Readers may have been shown the requests, which now take no answer.
  const cancelled = events.filter((event) => hasTag(event, EventTag.cancelled));
  for (const event of cancelled) {
    context.progress.noteCommitted(event);
    await committer.commit(event);
  }
  return cancelled;
}

/**
 * True if a resumable run with this failure has no end, and is resumed later: its process is shutting down, or the
 * caller that resumed it for another run stopped waiting.
 */
function awaitsResume(failure: EventloomError | undefined): boolean {
  return RunAbortedError.isInstance(failure) && ShuttingDownError.isInstance(failure.cause);
}

/**
 * Unlocks the session of a run that holds it still, and records the outcome. A run without an outcome stays open; it did
 * not lose an attempt if it only waits to be resumed. Of a run that did not begin, nothing is left.
 */
export async function releaseSession(
  { lock }: LockedRun,
  { begun }: RunControl,
  end: EndOfRun | undefined,
): Promise<void> {
  if (!begun) return lock.withdraw();
  const outcome = end?.outcome;
  const keepRunOpen = outcome ? false : awaitsResume(end?.failure) ? 'without-attempt' : true;
  await lock.unlock({ keepRunOpen, outcome });
}

/**
 * True if the run is complete although it was stopped: its reader stopped at the final answer, or the client of a live
 * run disconnected.
 */
function isComplete({ context }: RunInvocation, { failure, thrown }: RunFailure): boolean {
  if (context.invocation.live?.clientDisconnected) return true;
  if (!RunAbortedError.isInstance(failure) || thrown !== undefined) return false;
  const last = context.invocation.session.events.at(-1);
  return last?.invocationId === context.invocationId && last.author !== 'user' && isFinalResponse(last);
}

/** Returns the events of the replies that readers of an aborted run got only in part. */
function interruptedReplies({ progress }: InvocationContext): Event[] {
  return Array.from(progress.openReplies ?? [], (reply) => {
    // A reply with a finish reason is a whole one.
    const { finishReason: _, ...broken } = reply.toBrokenEvent();
    return { ...broken, interrupted: true };
  }).filter(({ content, errorMessage }) => content ?? errorMessage);
}

/** @param reply the event of the interrupted reply, or a new event of the agent that failed */
async function storeErrorEvent(
  { context, committer, appender }: RunInvocation,
  { failure, thrown }: RunFailure,
  reply: Event,
): Promise<Event> {
  const { code, publicMessage } = failure;
  const event = committer.complete(createErrorEvent(reply, errorCodeOf(failure), publicMessage, code));
  // After an abort, plugins are not asked.
  if (RunAbortedError.isInstance(failure)) return appender.append(event);
  try {
    return await committer.commit(event);
  } catch (error) {
    if (error !== thrown) reportUnlessStopped(context.platform, error);
  }
  // A plugin that fails on events must not keep the failure out of the session.
  return appender.append(event);
}

/** Maximum time that a run waits for a plugin's `onRunErrorCallback`, in milliseconds. */
const NOTICE_TIMEOUT_MS = 5000;

/**
 * Calls `onRunErrorCallback` of every plugin. Errors of these callbacks are reported to the platform and do not replace
 * the failure. A callback that takes longer than five seconds continues without the run, which frees its session.
 */
export async function notifyPlugins(context: InvocationContext, failure: EventloomError): Promise<void> {
  const { platform, plugins } = context;
  if (!plugins.has('onRunErrorCallback')) return;
  for (const plugin of plugins.plugins) {
    const notice = (async () => plugin.onRunErrorCallback({ invocationContext: context, error: failure }))();
    const settled = notice.catch((error: unknown) => reportTo(platform, error));
    const onLate = (): void =>
      reportTo(
        platform,
        new RunTimeoutError(
          `plugin "${plugin.name}": onRunErrorCallback took longer than ${NOTICE_TIMEOUT_MS / 1000} s, so the run ended without it; hand long work to a queue`,
        ),
      );
    await within(platform, settled, NOTICE_TIMEOUT_MS, onLate);
  }
}

/** Creates the last event of a stream with `completionEvent`: the outcome of the run. Never stored. */
export function completionEvent(
  { appName: author, platform }: Runner,
  config: RunConfig = {},
  invocationId: string,
  failure: EventloomError | undefined,
): Event {
  const outcome = failure === undefined ? 'completed' : RunAbortedError.isInstance(failure) ? 'aborted' : 'failed';
  const event = createEvent({
    id: platform.newEventId(),
    invocationId,
    executionId: invocationId,
    author,
    timestamp: platform.now() / 1000,
    object: ObjectType.runnerCompletion,
    customMetadata: { outcome },
  });
  return stampEvent(event, config);
}
