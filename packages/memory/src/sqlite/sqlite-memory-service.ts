import { type Platform, systemPlatform } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';
import { type OpenSqlite, openSqlite } from '@eventloom/core/internal/node';
import type { DatabaseSync } from 'node:sqlite';
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
  readonly #opened: OpenSqlite<SqliteMemoryDriver>;

  /**
   * Opens the file, or prepares the database.
   * @throws ConfigurationError if the file is not a database, cannot be opened, or was written by a newer version, and for an unknown
   * option
   */
  constructor(options: SqliteMemoryServiceOptions) {
    checkOptions('SqliteMemoryService', OPTIONS, options, HINTS);
    const { path, database, platform = systemPlatform } = options;
    const opened = openSqlite(
      { path, database },
      {
        service: 'SqliteMemoryService',
        purpose: 'a memory database',
        example: 'memory.db',
        synchronous: 'NORMAL',
        pragmas: 'PRAGMA secure_delete = ON',
        prepare: (connection) => {
          migrateMemories(connection);
          return new SqliteMemoryDriver(connection, platform);
        },
      },
    );
    super(opened.driver);
    this.#opened = opened;
  }

  /**
   * Closes the file, unless the database was given as an option. Optional: no data is lost without it. Do not call the service
   * afterwards.
   */
  close(): void {
    this.#opened.close();
  }
}
