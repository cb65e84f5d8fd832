import { ConfigurationError } from '@eventloom/core';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrateCredentials } from './schema.ts';

const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens or makes the file at `path`, and the folder it lies in; a new file is for its owner only. `:memory:` is a database of
 * its own. What is deleted is overwritten.
 * @throws ConfigurationError when it is no database, cannot be opened, or belongs to a newer program
 */
export function openDatabase(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(resolve(path)), { recursive: true });
      closeSync(openSync(path, 'a', 0o600));
    }
    database = new DatabaseSync(path);
    database.exec('PRAGMA secure_delete = ON');
    prepareDatabase(database);
    return database;
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`cannot use ${path} as a database of credentials: ${reason}`, { cause });
  }
}

/** Sets up a connection, and the table where it is missing. */
export function prepareDatabase(database: DatabaseSync): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = FULL');
  migrateCredentials(database);
}
