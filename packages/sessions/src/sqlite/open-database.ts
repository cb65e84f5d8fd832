import { requireSqlite, makeFolder } from '@eventloom/core/internal';
import { ConfigurationError, type Platform } from '@eventloom/core';
import { LockLine } from '@eventloom/core/internal';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import type { DatabaseSync } from 'node:sqlite';
import { SqlSessionDriver } from '../sql/sql-session-driver.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/**
 * The failures that an acknowledged write survives. `process`: any end of this process, including kill -9. After a power failure or a crash
 * of the machine the last writes may be missing, each as a whole, and the file is intact. `power`: power failures and crashes as well;
 * every write is flushed to the disk, which is slower.
 */
export type SqliteDurability = 'process' | 'power';

/** An opened file. */
export interface OpenDatabase {
  readonly database: DatabaseSync;
  readonly driver: SqlSessionDriver;
}

/** Time in milliseconds for which opening waits for a lock. The thread is blocked in that time. */
const BUSY_TIMEOUT_MS = 5000;
/**
 * A commit writes whole pages, and most events are much smaller than SQLite's default page. The log is checkpointed at
 * 4 MB, as by default.
 */
const NEW_FILE = 'PRAGMA page_size = 1024; PRAGMA wal_autocheckpoint = 4000;';

/**
 * Opens the file at `path`. Creates a missing file or folder with access for its owner only. `:memory:` is a separate
 * database.
 *
 * @throws ConfigurationError if the file is not a database, cannot be opened, or was created by a newer program
 */
export function openDatabase(path: string, durability: SqliteDurability, platform: Platform): OpenDatabase {
  const sqlite = requireSqlite('SqliteSessionService', process.getBuiltinModule?.('node:sqlite'), process.version);
  let database: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') {
      makeFolder(dirname(resolve(path)), { mkdirSync, dirname });
      closeSync(openSync(path, 'a', 0o600));
    }
    database = new sqlite.DatabaseSync(path);
    database.exec(NEW_FILE);
    return { database, driver: prepareDatabase(database, durability, platform) };
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(
      `cannot use "${path}" as a session database: ${reason}; write the path of a file in a folder that exists and can be written`,
      { cause },
    );
  }
}

/** Sets up a connection and its driver, and creates missing tables. */
export function prepareDatabase(
  database: DatabaseSync,
  durability: SqliteDurability,
  platform: Platform,
): SqlSessionDriver {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'}`);
  const driver = new SqlSessionDriver(new SqliteConnection(database), new LockLine('the session database', platform));
  // From now on, calls that find the file locked are retried without blocking the thread.
  database.exec('PRAGMA busy_timeout = 0');
  return driver;
}
