import { ConfigurationError } from '@eventloom/core';
import type { DatabaseSync } from 'node:sqlite';
import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { openDatabase, prepareDatabase, type SqliteDurability } from './open-database.ts';

/** Options of `SqliteSessionService`: one of `path` and `database` is given. */
export interface SqliteSessionServiceOptions extends DriverSessionServiceOptions {
  /** The database file, made when it is not there, with its folder. `:memory:` keeps everything in memory. */
  readonly path?: string;
  /**
   * An open database, which may hold other tables: those of this package begin with `eventloom_`. It is switched to WAL and
   * must not be inside a transaction when the service is called.
   */
  readonly database?: DatabaseSync;
  /** What an acknowledged write survives; default `process`. */
  readonly durability?: SqliteDurability;
}

/**
 * Sessions in a SQLite file, through node's own `node:sqlite`. Several processes of one machine may use one file: a session has
 * one writer at a time among all of them. Calls are synchronous inside, and take microseconds; a call that finds the file locked
 * by another process blocks for up to five seconds and then fails with a retryable SessionBusyError. An event, a state value or
 * the response of a tool call may take 64 MiB as JSON; more is a SizeLimitError.
 */
export class SqliteSessionService extends DriverSessionService {
  readonly #opened: DatabaseSync | undefined;

  /** @throws ConfigurationError when the file is no database, cannot be opened, or was made by a newer version */
  constructor(options: SqliteSessionServiceOptions) {
    const { path, database, durability = 'process' } = options;
    if (path !== undefined && database === undefined) {
      const opened = openDatabase(path, durability);
      super(opened.driver, options);
      this.#opened = opened.database;
    } else if (path === undefined && database !== undefined) {
      super(prepareDatabase(database, durability), options);
    } else {
      throw new ConfigurationError('SqliteSessionService: give either path or database');
    }
  }

  /** Closes the file, unless the database was handed in. Nothing is lost without it; no call may follow it. */
  close(): void {
    if (this.#opened?.isOpen) this.#opened.close();
  }
}
