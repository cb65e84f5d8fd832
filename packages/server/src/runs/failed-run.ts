import {
  type BaseSessionService,
  RunAbortedError,
  SessionBusyError,
  SessionNotFoundError,
  ShuttingDownError,
  StaleWriterError,
  StorageError,
  toError,
} from '@eventloom/core';
import { RunGoesOnError } from '../errors.ts';
import { readWithoutState } from '../sessions/event-pages.ts';
import type { RunHub } from './run-hub.ts';
import type { RecordedRun, RunLog } from './run-log.ts';
import { RUN_IS_OPEN } from './run-mirror.ts';
import { copyEnd, findMessage, findTakenRun } from './stored-frames.ts';

/** The parts of a hub that the end of a failed run needs. */
type FailureHub = Pick<RunHub, 'platform' | 'report' | 'unfinished' | 'isDraining'>;

/**
 * Failures after which another process may have the session, or the session may no longer exist. The end of an aborted run is not stored if the
 * session is lost.
 */
const MAY_BE_LOST = [StaleWriterError, SessionNotFoundError, RunAbortedError];
/** The message of the error that ends a run whose session is deleted. */
export const SESSION_DELETED = 'the session was deleted';
/** The reason in the error of a run that cannot be continued because its sessions end with this process. */
const LOST_SESSIONS =
  'the server was shut down before the run ended, and its sessions are only in the memory of the server';

/** Reports the failure of a run; for a run that stays open, why its log ended: its readers only get that the run continues. */
export function reportFailure(
  { report }: FailureHub,
  { failure, earlyEnd, invocationId, key: { sessionId } }: RunLog,
): void {
  const cause = earlyEnd ? earlyEnd.cause : failure;
  if (earlyEnd && StorageError.isInstance(cause)) {
    const run = `the run ${invocationId} of session ${JSON.stringify(sessionId)}`;
    report(new StorageError(`${run} stays open: ${cause.message}`, { cause }));
  } else report(cause);
}

/**
 * Writes the outcome of a run whose stream threw into its log. Readers get a failure only if it is final: the session has the failure, or
 * has nothing of the run. An open run, and a refused run whose message is stored, get RUN_GOES_ON. A run that another process has ended
 * gets its end.
 */
export async function recordFailure(
  hub: FailureHub,
  log: RunLog,
  stream: RecordedRun,
  thrown: unknown,
  service: BaseSessionService,
): Promise<void> {
  const failure = RunAbortedError.isInstance(thrown) && log.stopReason ? log.stopReason : toError(thrown);
  if (stream.leavesRunOpen) return endEarly(hub, log, failure, service);
  if (StorageError.isInstance(failure) && failure.retryable && !(await stream.whenBegun()))
    return log.fail(unansweredStart(failure, log.requestId));
  const asksToSendAgain = ShuttingDownError.isInstance(failure) || SessionBusyError.isInstance(failure);
  if (failure === log.stopReason && (await stream.whenBegun())) {
    // The message is stored, so it must not be sent again.
    return failStopped(hub, log, asksToSendAgain ? stoppedError(failure) : failure, service);
  }
  if (!asksToSendAgain || (await stream.whenBegun())) return log.fail(failure);
  try {
    // Without a request id, a message that answers or resumes cannot be distinguished from other messages of its run.
    const id = log.requestId ?? (log.mayContinue ? undefined : stream.invocationId);
    const stored = id === undefined ? undefined : await findMessage(service, log.key, id);
    if (stored === undefined) {
      const isLost = StaleWriterError.isInstance(failure.cause);
      const isDeleted = isLost && !(await readWithoutState(service, { ...log.key, config: { numRecentEvents: 0 } }));
      return log.fail(isDeleted ? new RunAbortedError(SESSION_DELETED) : failure);
    }
    // The same request was sent before, and its message is stored.
    log.invocationId = stored;
    log.noteEarlyEnd(earlyEndError(failure));
  } catch (error) {
    log.fail(toError(error));
  }
}

/** Ends the log of a run that was stopped with its last events in the session, because a stopped run yields nothing more. */
async function failStopped(hub: FailureHub, log: RunLog, failure: Error, service: BaseSessionService): Promise<void> {
  try {
    const stored = await service.findRun({ ...log.key, id: log.invocationId });
    if (stored?.end) {
      await copyEnd(service, log, stored);
      if (stored.end.state !== 'completed') log.failure = failure;
      return;
    }
  } catch (error) {
    hub.report(error);
  }
  log.fail(failure);
}

/**
 * Ends the log of a run without an end: with RUN_GOES_ON, or with the end that another process stored after it took or deleted the session.
 * A run that no process can continue after this one gets an end first.
 */
async function endEarly(hub: FailureHub, log: RunLog, failure: Error, service: BaseSessionService): Promise<void> {
  const isLeft = hub.isDraining && service.endsWithProcess;
  try {
    if (isLeft) await hub.unfinished.close(log, LOST_SESSIONS);
    const mayHaveEnded = isLeft || MAY_BE_LOST.some((type) => type.isInstance(failure));
    if (mayHaveEnded && (await endFromSession(hub, log, service))) return;
  } catch (error) {
    hub.report(error);
  }
  if (log.isCancelled) hub.unfinished.noteCancelled(log);
  log.noteEarlyEnd(earlyEndError(failure));
}

/** Adds the end of a run from its session to its log. Returns false while the run is open. */
async function endFromSession({ platform }: FailureHub, log: RunLog, service: BaseSessionService): Promise<boolean> {
  const stored = await findTakenRun(service, platform, log.key, log.invocationId);
  if (stored?.open) return false;
  if (stored) {
    log.isEndedElsewhere = true;
    await copyEnd(service, log, stored);
  } else {
    log.isDeleted = true;
    log.fail(new RunAbortedError(SESSION_DELETED));
  }
  return true;
}

/** Ends the log of a run whose storage does not answer, so that its readers get the reason before the process ends. */
export function leaveUnanswered(log: RunLog): void {
  const away = new StorageError('the storage did not answer before the server shut down');
  if (log.hasBegun) log.noteEarlyEnd(earlyEndError(away));
  else log.fail(unansweredStart(away, log.requestId));
  log.end();
}

/**
 * Creates the error for a run that was stopped after its message was stored. The reason by itself would suggest that the message can be
 * sent again.
 */
function stoppedError(cause: Error): RunAbortedError {
  const why = ShuttingDownError.isInstance(cause) ? 'the server was shut down' : 'the client stopped waiting';
  return new RunAbortedError(`${why} before the run ended; its committed events are in the session`, { cause });
}

/** Returns the error of a run whose start the storage did not answer, because a frozen database may still store the message later. */
function unansweredStart({ message, publicMessage, cause }: StorageError, requestId: string | undefined): StorageError {
  const how =
    requestId === undefined ? 'read the session before you send it again' : 'send it again with this requestId';
  const advice = `; the message may have been stored nevertheless: ${how}`;
  return new StorageError(message + advice, { cause, publicMessage: publicMessage + advice });
}

/** Converts the reason to a RunGoesOnError: the run is open, so no follower may get a failure. */
function earlyEndError(cause: Error): RunGoesOnError {
  return new RunGoesOnError(`${RUN_IS_OPEN}; do not send the message again, but follow the run at its address`, {
    cause,
  });
}
