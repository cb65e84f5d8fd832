import {
  RunAbortedError,
  SessionAlreadyExistsError,
  SessionBusyError,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
  StaleWriterError,
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

/** The wait for the session was aborted. */
export function abortedError(key: SessionKey, signal: AbortSignal): RunAbortedError {
  return new RunAbortedError(`aborted while waiting for ${describe(key)}`, { cause: signal.reason });
}

function describe({ appName, userId, sessionId }: SessionKey): string {
  return `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)}`;
}
