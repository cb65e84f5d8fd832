import { ConfigurationError } from '@eventloom/core';
import { MIGRATIONS } from './schema.ts';
import type { Tables } from './tables.ts';

/** The row of the meta table that has the version of the session tables. */
export const VERSION_KEY = 'sessions.schema';

/** The version that this program makes and knows. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** The version of the tables as a value in SQL. */
export function versionSql({ meta }: Tables): string {
  return `(SELECT value FROM ${meta} WHERE key = '${VERSION_KEY}')`;
}

/**
 * True in SQL while the tables are those of this program. Every statement that begins or adds something asks for it: a program of
 * a newer version may bring the tables up to date while this one runs, and may expect of writers what this one does not do.
 */
export function isCurrentSql(tables: Tables): string {
  return `${versionSql(tables)} = ${SCHEMA_VERSION}`;
}

/** @throws ConfigurationError for a version that this program does not know */
export function checkVersion(version: number, known: number = SCHEMA_VERSION): void {
  if (version <= known) return;
  throw new ConfigurationError(
    `the session tables have version ${version}, this program knows versions up to ${known}; update @eventloom/sessions`,
  );
}

/** For a version that was the program's when it began. @throws ConfigurationError for another one */
export function checkCurrent(version: number): void {
  if (version === SCHEMA_VERSION) return;
  checkVersion(version);
  throw new ConfigurationError(
    `the session tables have version ${version}, and had version ${SCHEMA_VERSION} when this program began; restart it`,
  );
}
