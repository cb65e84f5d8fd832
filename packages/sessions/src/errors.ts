import {
  type BeginRunRequest,
  type OpenRun,
  RequestKnownError,
  RunAbortedError,
  RunNotFoundError,
  SessionAlreadyExistsError,
  SessionBusyError,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
  StaleWriterError,
  UnfinishedRunError,
} from '@eventloom/core';

/** Thrown at the end of a transaction that only checked something, so that it is rolled back. */
export const UNDONE = new TypeError('the check is rolled back');

/** Returns the error for a session that does not exist. */
export function notFoundError(key: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`${describe(key)} does not exist`);
}

/**
 * Returns the error for a session object that is not the stored session: it was deleted since it was read, and possibly
 * created again, or never stored.
 */
export function deletedError(key: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(
    `${describe(key)} is not stored, or was deleted after it was read; read it again with getSession`,
  );
}

/** Returns the error for a session that already exists. */
export function existsError(key: SessionKey): SessionAlreadyExistsError {
  return new SessionAlreadyExistsError(
    `${describe(key)} already exists; choose another sessionId, or read it with getSession`,
  );
}

/** Returns the error for a lease that is no longer valid. */
export function staleError(lease: SessionLease): StaleWriterError {
  return new StaleWriterError(
    `${describe(lease)}: the lease (epoch ${lease.epoch}) has ended, because it was released or another writer took the session over, or is not a lease of this session, or the storage lost the event before`,
  );
}

/** Returns the error for a run whose session was locked again since the lease that it must follow. */
export function staleBeginError(request: Pick<BeginRunRequest, keyof SessionKey | 'lastEpoch'>): StaleWriterError {
  return new StaleWriterError(
    `${describe(request)}: the latest lease does not have the epoch ${request.lastEpoch}: another writer has locked the session since`,
  );
}

/** Returns the error for a session that another writer held during the whole of `waitedMs`. */
export function busyError(key: SessionKey, waitedMs?: number): SessionBusyError {
  const waited = waitedMs === undefined ? '' : ` and did not end within ${waitedMs} ms`;
  return new SessionBusyError(
    `${describe(key)} is busy: another run has locked it${waited}; wait for the end of that run`,
  );
}

/** Returns the error for a session whose queue is full. */
export function fullLineError(key: SessionKey, waiting: number): SessionBusyError {
  return new SessionBusyError(
    `${describe(key)} is busy: another run has locked it, and ${waiting} callers already wait for it; try again later`,
  );
}

/** Returns the error for a session with another open run. */
export function unfinishedError(run: OpenRun): UnfinishedRunError {
  const { invocationId } = run;
  return new UnfinishedRunError(
    `${describe(run)} has the run ${JSON.stringify(invocationId)}, which has not ended; resume it with its invocationId, or cancel it first`,
    { run },
  );
}

/** Returns the error for a request id that belongs to another run. */
export function knownError(key: SessionKey, requestId: string, invocationId: string): RequestKnownError {
  return new RequestKnownError(
    `requestId ${JSON.stringify(requestId)}: the run ${JSON.stringify(invocationId)} of ${describe(key)} was already started with it`,
    { invocationId },
  );
}

/** Returns the error for a run that the session does not have. */
export function runNotFoundError(key: SessionKey, invocationId: string): RunNotFoundError {
  return new RunNotFoundError(
    `${describe(key)} has no run ${JSON.stringify(invocationId)}; list the events of the session for the ids of its runs, or send the message without an invocationId to start a new run`,
  );
}

/** Returns the error for an aborted wait for the session. */
export function abortedError(key: SessionKey, signal: AbortSignal): RunAbortedError {
  return new RunAbortedError(`aborted while waiting for ${describe(key)}`, { cause: signal.reason });
}

function describe({ appName, userId, sessionId }: SessionKey): string {
  return `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)}`;
}
