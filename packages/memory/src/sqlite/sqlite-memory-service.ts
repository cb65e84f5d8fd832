import { requireSqlite, type OptionRules, checkOptions, makeFolder } from '@eventloom/core/internal';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, type Platform, systemPlatform } from '@eventloom/core';
import { DriverMemoryService } from '../driver-memory-service.ts';
import { migrateMemories } from './schema.ts';
import { SqliteMemoryDriver } from './sqlite-memory-driver.ts';

/** Options of `SqliteMemoryService`. Give exactly one of `path` and `database`. */
export interface SqliteMemoryServiceOptions {
  /** Path of the database file. The file and its folder are created if they do not exist. `:memory:` keeps everything in memory. */
  readonly path?: string;
  /**
   * An open database. It may contain other tables, such as those of sessions: the names of this package's tables begin with
   * `eventloom_memor`. The service switches it to WAL and sets its `busy_timeout` to 0. It must not be inside a transaction when the
   * service is called.
   */
  readonly database?: DatabaseSync;
  /** Clock and timers for retries while the file is locked. Default: those of the system. */
  readonly platform?: Platform;
}

const OPTIONS: OptionRules<SqliteMemoryServiceOptions> = { path: 'text', database: 'object', platform: 'object' };
const HINTS = { file: 'did you mean "path"?', filename: 'did you mean "path"?', url: 'write path, the name of a file' };

/**
 * Stores memories in a SQLite file, with the module `node:sqlite` of Node. Several processes on one machine may use the same file. Calls
 * work synchronously; the time of a search grows with the number of the user's memories that contain its words. If another process locks
 * the file, a call is retried without blocking other work, and fails with a StorageError if the file stays locked for five seconds. If the
 * disk is full, a call fails at once.
 *
 * An acknowledged write survives the end of this process; after a crash of the machine the last writes may be missing, but a call is stored
 * as a whole or not at all. In a file that the service opened, deleted values are overwritten.
 */
export class SqliteMemoryService extends DriverMemoryService {
  readonly #opened: DatabaseSync | undefined;

  /**
   * Opens the file, or prepares the database.
   * @throws ConfigurationError if the file is not a database, cannot be opened, or was written by a newer version, and for an unknown
   * option
   */
  constructor(options: SqliteMemoryServiceOptions) {
    checkOptions('SqliteMemoryService', OPTIONS, options, HINTS);
    const { path, database, platform = systemPlatform } = options;
    if ((path === undefined) === (database === undefined)) {
      throw new ConfigurationError("SqliteMemoryService: needs either path, as in { path: 'memory.db' }, or database");
    }
    const opened = path === undefined ? undefined : openDatabase(path);
    if (database) prepareDatabase(database);
    super(new SqliteMemoryDriver((opened ?? database) as DatabaseSync, platform));
    this.#opened = opened;
  }

  /**
   * Closes the file, unless the database was given as an option. Optional: no data is lost without it. Do not call the service
   * afterwards.
   */
  close(): void {
    if (this.#opened?.isOpen) this.#opened.close();
  }
}

/** Maximum time that opening waits for a lock, in milliseconds. It blocks the thread. */
const BUSY_TIMEOUT_MS = 5000;

/**
 * Opens or creates the file at `path` and its folder; a new file or folder is private to its owner. `:memory:` is a separate database.
 * Deleted values are overwritten.
 * @throws ConfigurationError if the file is not a database, cannot be opened, or was written by a newer version
 */
function openDatabase(path: string): DatabaseSync {
  const sqlite = requireSqlite('SqliteMemoryService', process.getBuiltinModule?.('node:sqlite'), process.version);
  let database: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') {
      makeFolder(dirname(resolve(path)), { mkdirSync, dirname });
      closeSync(openSync(path, 'a', 0o600));
    }
    database = new sqlite.DatabaseSync(path);
    database.exec('PRAGMA secure_delete = ON');
    prepareDatabase(database);
    return database;
  } catch (cause) {
    database?.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(
      `cannot use "${path}" as a memory database: ${reason}; write the path of a file in a folder that exists and can be written`,
      { cause },
    );
  }
}

/** Sets up a connection, and the tables where they are missing. */
function prepareDatabase(database: DatabaseSync): void {
  database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec('PRAGMA synchronous = NORMAL');
  migrateMemories(database);
  // From now on SQLite reports a lock at once, and the service waits for it without blocking.
  database.exec('PRAGMA busy_timeout = 0');
}
