import {
  RunAbortedError,
  SessionAlreadyExistsError,
  SessionBusyError,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
  StaleWriterError,
} from '@eventloom/core';

/** There is no such session, or not any more. */
export function notFoundError(key: SessionKey): SessionNotFoundError {
  return new SessionNotFoundError(`${describe(key)} does not exist, or was deleted since it was read`);
}

/** The key is taken. */
export function existsError(key: SessionKey): SessionAlreadyExistsError {
  return new SessionAlreadyExistsError(`${describe(key)} exists already`);
}

/** The lease cannot write. */
export function staleError(lease: SessionLease): StaleWriterError {
  return new StaleWriterError(
    `${describe(lease)}: the lease (epoch ${lease.epoch}) was released, taken over, or is not this session's`,
  );
}

/** The session is held by somebody else, and was for as long as one waited. */
export function busyError(key: SessionKey, waitedMs?: number): SessionBusyError {
  const waited = waitedMs === undefined ? '' : ` and was not free within ${waitedMs} ms`;
  return new SessionBusyError(`${describe(key)} is held by another writer${waited}`);
}

/** The session is held, and so many wait for it that no more may. */
export function fullLineError(key: SessionKey, waiting: number): SessionBusyError {
  return new SessionBusyError(`${describe(key)} is held by another writer, and ${waiting} wait for it already`);
}

/** The wait was given up. */
export function abortedError(key: SessionKey, signal: AbortSignal): RunAbortedError {
  return new RunAbortedError(`aborted while waiting for ${describe(key)}`, { cause: signal.reason });
}

function describe({ appName, userId, sessionId }: SessionKey): string {
  return `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)} in app ${JSON.stringify(appName)}`;
}
