import type { SessionKey } from '@eventloom/core';
import { newerTablesError, SCHEMA_VERSION } from './schema.ts';
import type { SessionRow, SqlStatements } from './statements.ts';

/**
 * Returns the row of a session; undefined if the session does not exist.
 * @throws ConfigurationError if a newer program migrated the tables since this one started
 */
export function findSession(sql: SqlStatements, { appName, userId, sessionId }: SessionKey): SessionRow | undefined {
  return checkFound(sql, sql.session.get(appName, userId, sessionId) as SessionRow | undefined);
}

/**
 * Checks the result of a search for a session's row, and returns it.
 *
 * @throws ConfigurationError if a newer program migrated the tables since this one started
 */
export function checkFound<T extends SessionRow>(sql: SqlStatements, row: T | undefined): T | undefined {
  if (!row) checkVersion(sql);
  else if (row.version !== SCHEMA_VERSION) throw newerTablesError(row.version);
  return row;
}

/** @throws ConfigurationError if a newer program migrated the tables since this one started */
export function checkVersion(sql: SqlStatements): void {
  const version = Number(sql.version.get()?.['version']);
  if (version !== SCHEMA_VERSION) throw newerTablesError(version);
}
