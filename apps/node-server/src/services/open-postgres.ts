import { ConfigurationError, StorageError, toError } from '@eventloom/core';
import { setTimeout } from 'node:timers/promises';
import type { OpenSessions } from './open-services.ts';

/** Time that PostgreSQL has to answer at the start of the program and for each new connection, in milliseconds. */
const CONNECT_MS = 5000;
/** Time that PostgreSQL has at the end of the program to finish its statements, in milliseconds. */
const CLOSE_MS = 2000;

/**
 * Opens sessions in the database of this URL, and a relay for the runs of all processes that use it. Creates missing tables.
 *
 * @param warn called with a line for each lost idle connection; the next call opens a new one
 * @throws ConfigurationError if the database cannot be used; the message contains no password
 */
export async function openPostgres(url: string, warn: (line: string) => void): Promise<OpenSessions> {
  const { Pool } = await import('pg');
  const { PostgresRunRelay } = await import('@eventloom/server/postgres');
  const { PostgresSessionService } = await import('@eventloom/sessions/postgres');
  const place = withoutSecrets(url);
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    application_name: 'eventloom',
  });
  pool.on('error', (error) => warn(`${place}: an idle connection was lost: ${reasonOf(error)}`));
  const service = new PostgresSessionService({ pool });
  try {
    await service.migrate();
  } catch (cause) {
    await pool.end();
    // An error of the client contains its settings, so it is not passed on.
    const isOfClient = !ConfigurationError.isInstance(cause);
    const reason = toError(StorageError.isInstance(cause) ? cause.cause : cause);
    throw new ConfigurationError(`cannot keep sessions in ${place}: ${reasonOf(reason)}`, isOfClient ? {} : { cause });
  }
  const relay = new PostgresRunRelay({ pool });
  const close = async (): Promise<void> => {
    await relay.close();
    await Promise.race([pool.end(), setTimeout(CLOSE_MS, undefined, { ref: false })]);
  };
  return { service, relay, close };
}

/** Returns the server, the database and the user of a URL, without its parameters, which can contain secrets. */
function withoutSecrets(url: string): string {
  const { protocol, username, host, pathname } = new URL(url);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}

/** Returns the reasons of an error. A host with several addresses fails once per address, in an AggregateError without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return toError(error).message;
}
