import { ConfigurationError } from '@eventloom/core';
import { MIGRATIONS } from './schema.ts';
import type { Tables } from './tables.ts';

/** The key of the row in the meta table that has the version of the session tables. */
export const VERSION_KEY = 'sessions.schema';

/** The version of the tables that this program creates and uses. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The version of the tables as a value in SQL. */
export function versionSql({ meta }: Tables): string {
  return `(SELECT value FROM ${meta} WHERE key = '${VERSION_KEY}')`;
}

/**
 * SQL that is true while the tables have this program's version. Every statement that writes has this condition: a newer program
 * may migrate the tables while this one runs, and may rely on writes that this one does not do.
 */
export function isCurrentSql(tables: Tables): string {
  return `${versionSql(tables)} = ${SCHEMA_VERSION}`;
}

/** @throws ConfigurationError for a version that this program does not know */
export function checkVersion(version: number, known: number = SCHEMA_VERSION): void {
  if (version <= known) return;
  throw new ConfigurationError(
    `the session tables have version ${version}, and this program supports versions up to ${known}; update @eventloom/sessions`,
  );
}

/** Checks the version of tables that were current when the program started. @throws ConfigurationError for another version */
export function checkCurrent(version: number): void {
  if (version === SCHEMA_VERSION) return;
  checkVersion(version);
  throw new ConfigurationError(
    `the session tables have version ${version}, and had version ${SCHEMA_VERSION} when this program started; restart it`,
  );
}
