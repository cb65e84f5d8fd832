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
import { isCancelledRequest, readWithoutEvents } from '@eventloom/core/internal';
import { RunGoesOnError } from '../errors.ts';
import type { RunHub } from './run-hub.ts';
import type { ActiveRun } from './active-run.ts';
import type { LogEnd, RunLog } from './run-log.ts';
import { RUN_IS_OPEN } from './run-mirror.ts';
import { copyEnd, findMessage, findTakenRun } from './stored-frames.ts';

/** The parts of a hub that the end of a failed run needs. */
type FailureHub = Pick<RunHub, 'platform' | 'report' | 'unfinished' | 'isDraining'>;

/**
 * Failures after which another process may have the session, or the session may no longer exist. The end of an aborted
 * run is not stored if the session is lost.
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
  { invocationId, key: { sessionId } }: RunLog,
  { kind, failure }: LogEnd,
): void {
  const cause = kind === 'continues' ? failure.cause : failure;
  if (kind === 'continues' && StorageError.isInstance(cause)) {
    const run = `the run ${invocationId} of session ${JSON.stringify(sessionId)}`;
    report(new StorageError(`${run} stays open: ${cause.message}`, { cause }));
  } else report(cause);
}

/**
 * Decides how the log of a run ends whose stream threw. Readers get a failure only if it is final: the session has the failure, or
 * has nothing of the run. An open run, and a refused run whose message is stored, get RUN_GOES_ON. A run that another process has ended
 * gets its end.
 */
export async function endOfFailedRun(
  hub: FailureHub,
  run: ActiveRun,
  thrown: unknown,
  service: BaseSessionService,
): Promise<LogEnd> {
  const { log, stream, stopReason } = run;
  const failure = RunAbortedError.isInstance(thrown) && stopReason ? stopReason : toError(thrown);
  if (stream.leavesRunOpen) return endOfOpenRun(hub, run, failure, service);
  if (await stream.whenBegun()) {
    // Another run may have interrupted it.
    const wasStopped = failure === stopReason || RunAbortedError.isInstance(failure);
    if (!wasStopped) return { kind: 'failed', failure };
    // The message is stored, so it must not be sent again.
    return endOfStoppedRun(hub, log, asksToSendAgain(failure) ? stoppedError(failure) : failure, service);
  }
  if (StorageError.isInstance(failure) && failure.retryable)
    return { kind: 'refused', failure: unconfirmedStart(failure, log.requestId) };
  try {
    return await endOfUnbegunRun(run, failure, service);
  } catch (error) {
    return { kind: 'refused', failure: toError(error) };
  }
}

/** True for an error after which a client sends its message again. */
function asksToSendAgain(failure: Error): boolean {
  return ShuttingDownError.isInstance(failure) || SessionBusyError.isInstance(failure);
}

/**
 * Returns the end of the log of a run that did not begin here. If a copy of its request has begun, in this process before
 * or in another one, the client is to follow that run. A request that was cancelled is recorded as cancelled, because
 * copies of it may wait in other processes, and its client may send it again.
 */
async function endOfUnbegunRun(run: ActiveRun, failure: Error, service: BaseSessionService): Promise<LogEnd> {
  const { log, stream, startKind } = run;
  const { key, requestId } = log;
  let begunId: string | undefined;
  if (asksToSendAgain(failure)) {
    // Without a request id, a message that answers or resumes cannot be distinguished from other messages of its run.
    const id = requestId ?? (startKind === 'message' ? stream.invocationId : undefined);
    begunId = id === undefined ? undefined : await findMessage(service, key, id);
    const isLost = begunId === undefined && StaleWriterError.isInstance(failure.cause);
    if (isLost && !(await readWithoutEvents(service, key)))
      return { kind: 'refused', failure: new RunAbortedError(SESSION_DELETED) };
  } else if (run.isCancelled && requestId !== undefined) {
    const recorded = await service.cancelRequest({ ...key, id: requestId });
    // A copy that has begun may have completed before it can be cancelled.
    if (recorded && !isCancelledRequest(recorded)) begunId = recorded.invocationId;
  }
  if (begunId === undefined) return { kind: 'refused', failure };
  log.invocationId = begunId;
  return { kind: 'continues', failure: openRunError(failure) };
}

/** Returns the end of a run that was stopped: its last events are in the session, because a stopped run yields nothing more. */
async function endOfStoppedRun(
  hub: FailureHub,
  log: RunLog,
  failure: Error,
  service: BaseSessionService,
): Promise<LogEnd> {
  try {
    const stored = await service.findRun({ ...log.key, id: log.invocationId });
    if (stored?.end) {
      await copyEnd(service, log, stored);
      return { kind: 'copied', failure: stored.end.state === 'completed' ? undefined : failure };
    }
  } catch (error) {
    hub.report(error);
  }
  return { kind: 'failed', failure };
}

/**
 * Returns the end of the log of a run without an end: RUN_GOES_ON, or the end that another process stored after it took or deleted the
 * session. A run that no process can continue after this one gets an end first.
 */
async function endOfOpenRun(
  hub: FailureHub,
  run: ActiveRun,
  failure: Error,
  service: BaseSessionService,
): Promise<LogEnd> {
  const losesSessions = hub.isDraining && service.endsWithProcess;
  try {
    if (losesSessions) await hub.unfinished.close(run.log, LOST_SESSIONS);
    const mayHaveEnded = losesSessions || MAY_BE_LOST.some((type) => type.isInstance(failure));
    const end = mayHaveEnded ? await endInSession(hub, run.log, service) : undefined;
    if (end) return end;
  } catch (error) {
    hub.report(error);
  }
  if (run.isCancelled) hub.unfinished.noteCancelled(run.log);
  return { kind: 'continues', failure: openRunError(failure) };
}

/** Copies the end of a run from its session to its log. Resolves to undefined while the run is open. */
async function endInSession(
  { platform }: FailureHub,
  log: RunLog,
  service: BaseSessionService,
): Promise<LogEnd | undefined> {
  const stored = await findTakenRun(service, platform, log.key, log.invocationId);
  if (!stored) return { kind: 'deleted', failure: new RunAbortedError(SESSION_DELETED) };
  if (stored.open) return undefined;
  await copyEnd(service, log, stored);
  return { kind: 'copied' };
}

/** Returns the end of the log of a run whose storage does not answer, so that its readers get the reason before the process ends. */
export function endOfUnconfirmedRun({ hasBegun, log: { requestId } }: ActiveRun): LogEnd {
  const failure = new StorageError('the storage did not answer before the server shut down');
  return hasBegun
    ? { kind: 'continues', failure: openRunError(failure) }
    : { kind: 'refused', failure: unconfirmedStart(failure, requestId) };
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
function unconfirmedStart(
  { message, publicMessage, cause }: StorageError,
  requestId: string | undefined,
): StorageError {
  const how =
    requestId === undefined ? 'read the session before you send it again' : 'send it again with this requestId';
  const advice = `; the message may have been stored nevertheless: ${how}`;
  return new StorageError(message + advice, { cause, publicMessage: publicMessage + advice });
}

/** Converts the reason to a RunGoesOnError: the run is open, so no follower may get a failure. */
function openRunError(cause: Error): RunGoesOnError {
  return new RunGoesOnError(`${RUN_IS_OPEN}; do not send the message again, but follow the run at its address`, {
    cause,
  });
}
