import {
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

/** The session does not exist (any more). */
export function notFoundError(key: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`${describe(key)} does not exist, or was deleted since it was read`);
}

/** A session with this key already exists. */
export function existsError(key: SessionKey): SessionAlreadyExistsError {
  return new SessionAlreadyExistsError(`${describe(key)} exists already`);
}

/** The lease is no longer valid for writing. */
export function staleError(lease: SessionLease): StaleWriterError {
  return new StaleWriterError(
    `${describe(lease)}: the lease (epoch ${lease.epoch}) was released, taken over, or is not this session's`,
  );
}

/** Another writer holds the session, and held it for the whole of `waitedMs`. */
export function busyError(key: SessionKey, waitedMs?: number): SessionBusyError {
  const waited = waitedMs === undefined ? '' : ` and was not free within ${waitedMs} ms`;
  return new SessionBusyError(`${describe(key)} is held by another writer${waited}`);
}

/** Another writer holds the session, and as many writers wait for it as are allowed. */
export function fullLineError(key: SessionKey, waiting: number): SessionBusyError {
  return new SessionBusyError(`${describe(key)} is held by another writer, and ${waiting} wait for it already`);
}

/** Another run is open in the session. */
export function unfinishedError(run: OpenRun): UnfinishedRunError {
  const { invocationId } = run;
  return new UnfinishedRunError(
    `${describe(run)} has the run ${JSON.stringify(invocationId)}, which has not ended; resume or close it first`,
    { run },
  );
}

/** The request id is that of another run. */
export function knownError(key: SessionKey, requestId: string, invocationId: string): RequestKnownError {
  return new RequestKnownError(
    `requestId ${JSON.stringify(requestId)}: ${describe(key)} has it already, of the run ${JSON.stringify(invocationId)}`,
    { invocationId },
  );
}

/** The session does not have the run. */
export function runNotFoundError(key: SessionKey, invocationId: string): RunNotFoundError {
  return new RunNotFoundError(`${describe(key)} has no run ${JSON.stringify(invocationId)}`);
}

/** The wait for the session was aborted. */
export function abortedError(key: SessionKey, signal: AbortSignal): RunAbortedError {
  return new RunAbortedError(`aborted while waiting for ${describe(key)}`, { cause: signal.reason });
}

function describe({ appName, userId, sessionId }: SessionKey): string {
  return `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)}`;
}
