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

/** The session does not exist. */
export function notFoundError(key: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`${describe(key)} does not exist`);
}

/** The session that was read before does not exist any more, or was deleted and created again. */
export function deletedError(key: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`${describe(key)} was deleted after it was read; read it again with getSession`);
}

/** A session with this key already exists. */
export function existsError(key: SessionKey): SessionAlreadyExistsError {
  return new SessionAlreadyExistsError(
    `${describe(key)} exists already; choose another sessionId, or read it with getSession`,
  );
}

/** The lease is no longer valid for writing. */
export function staleError(lease: SessionLease): StaleWriterError {
  return new StaleWriterError(
    `${describe(lease)}: the lease (epoch ${lease.epoch}) ended: it was released, another writer took it over, or it is not a lease of this session`,
  );
}

/** Another writer holds the session, and held it for the whole of `waitedMs`. */
export function busyError(key: SessionKey, waitedMs?: number): SessionBusyError {
  const waited = waitedMs === undefined ? '' : ` and did not end within ${waitedMs} ms`;
  return new SessionBusyError(
    `${describe(key)} is busy: another run has locked it${waited}; wait for the end of that run`,
  );
}

/** Another writer holds the session, and as many writers wait for it as are allowed. */
export function fullLineError(key: SessionKey, waiting: number): SessionBusyError {
  return new SessionBusyError(
    `${describe(key)} is busy: another run has locked it, and ${waiting} callers already wait for it; try again when they are done`,
  );
}

/** Another run is open in the session. */
export function unfinishedError(run: OpenRun): UnfinishedRunError {
  const { invocationId } = run;
  return new UnfinishedRunError(
    `${describe(run)} has the run ${JSON.stringify(invocationId)}, which has not ended; resume it with its invocationId, or cancel it first`,
    { run },
  );
}

/** The request id is that of another run. */
export function knownError(key: SessionKey, requestId: string, invocationId: string): RequestKnownError {
  return new RequestKnownError(
    `requestId ${JSON.stringify(requestId)}: the run ${JSON.stringify(invocationId)} of ${describe(key)} was already started with it`,
    { invocationId },
  );
}

/** The session does not have the run. */
export function runNotFoundError(key: SessionKey, invocationId: string): RunNotFoundError {
  return new RunNotFoundError(
    `${describe(key)} has no run ${JSON.stringify(invocationId)}; list the events of the session for the ids of its runs, or send the message without an invocationId to start a new run`,
  );
}

/** The wait for the session was aborted. */
export function abortedError(key: SessionKey, signal: AbortSignal): RunAbortedError {
  return new RunAbortedError(`aborted while waiting for ${describe(key)}`, { cause: signal.reason });
}

function describe({ appName, userId, sessionId }: SessionKey): string {
  return `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)}`;
}
