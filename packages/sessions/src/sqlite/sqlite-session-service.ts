import { type MaybePromise, StorageError, systemPlatform } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';
import { LockLine, type OpenSqlite, openSqlite, SqliteTransactions } from '@eventloom/core/internal/node';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { SqlSessionDriver } from '../sql/sql-session-driver.ts';
import { MAX_PAGE_CHARS } from '../session-driver.ts';
import { withinLimit } from '../sql/size-limit.ts';
import type { RowTexts, SqlConnection } from '../sql/sql-connection.ts';

/**
 * The failures that an acknowledged write survives. `process`: any end of this process, including kill -9. After a power failure or a crash
 * of the machine the last writes may be missing, each as a whole, and the file is intact. `power`: power failures and crashes as well;
 * every write is flushed to the disk, which is slower.
 */
export type SqliteDurability = 'process' | 'power';

/** Options of `SqliteSessionService`: one of `path` and `database` is given. */
export interface SqliteSessionServiceOptions extends DriverSessionServiceOptions {
  /** Path of the database file. The file and its folder are created if they do not exist. `:memory:` keeps everything in memory. */
  readonly path?: string;
  /**
   * An open database. It may contain other tables: the names of this package's tables begin with `eventloom_`. The service switches it to
   * WAL and sets its `busy_timeout` to 0. It must not be inside a transaction when the service is called.
   */
  readonly database?: DatabaseSync;
  /** The failures that an acknowledged write survives; default `process`. */
  readonly durability?: SqliteDurability;
}

const OPTIONS: OptionRules<SqliteSessionServiceOptions> = {
  path: { is: 'text', write: "'sessions.db'" },
  database: 'object',
  durability: { is: 'text', oneOf: ['process', 'power'] },
  platform: 'object',
};
const HINTS = { file: 'did you mean "path"?', filename: 'did you mean "path"?', url: 'write path, the name of a file' };

/**
 * A commit writes whole pages, and most events are much smaller than SQLite's default page. The log is checkpointed at
 * 16 MB, which is a thousand turns: a checkpoint waits for the disk, and the thread with it. The cache has room for an
 * event of 8 MB with its state: pages that do not fit are written several times in one transaction, which takes twice
 * as long.
 */
const NEW_FILE = 'PRAGMA page_size = 1024; PRAGMA wal_autocheckpoint = 16000; PRAGMA cache_size = -24000;';

/**
 * Keeps sessions in a SQLite file, through Node's `node:sqlite`. Several processes of one machine may use one file: a session has one
 * writer at a time among all processes, and callers of one process that wait for it get it in the order of their
 * requests; of the first waiting callers of several processes, the one that has waited longest. Calls work synchronously and
 * take microseconds. If another process locks the file, a write is repeated without blocking the thread, and fails with a StorageError if
 * the file stays locked for five seconds. If the disk is full or fails, a write fails immediately. A process that runs an older version
 * than the one that last opened the file gets a ConfigurationError.
 *
 * An import and a deletion are one transaction each: about 5 µs for each event, during which this process does nothing
 * else and no other process writes. An event or the response of a tool call takes up to 64 MiB as JSON, the state of a
 * session up to 17,000,000 bytes, and that of a user and of an app up to 4,000,000 each; larger ones are a
 * SizeLimitError. A page of a listing ends at 16 Mi characters of state or events.
 */
export class SqliteSessionService extends DriverSessionService {
  /** True for the path `:memory:`. */
  override readonly endsWithProcess: boolean;
  readonly #opened: OpenSqlite<SqlSessionDriver>;

  /**
   * @throws ConfigurationError if the file is not a database, cannot be opened, or was created by a newer version, and for an unknown
   * option
   */
  constructor(options: SqliteSessionServiceOptions) {
    checkOptions('SqliteSessionService', OPTIONS, options, HINTS, "new SqliteSessionService({ path: 'sessions.db' })");
    const { path, database, durability = 'process', platform = systemPlatform } = options;
    const opened = openSqlite(
      { path, database },
      {
        service: 'SqliteSessionService',
        purpose: 'a session database',
        example: 'sessions.db',
        synchronous: durability === 'power' ? 'FULL' : 'NORMAL',
        pragmas: NEW_FILE,
        prepare: (connection) =>
          new SqlSessionDriver(new SqliteConnection(connection), new LockLine('the session database', platform)),
      },
    );
    super(opened.driver, { platform });
    this.endsWithProcess = path === ':memory:';
    this.#opened = opened;
  }

  override checkWritable(): MaybePromise<void> {
    if (this.#opened.isReplaced())
      throw new StorageError('the file of the session database was deleted or replaced; restart the process', {
        retryable: false,
      });
    return super.checkWritable();
  }

  /**
   * Closes the file, unless the database was given as an option. Optional: no data is lost without it. Do not call the
   * service afterwards.
   */
  close(): void {
    this.#opened.close();
  }
}

const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** The texts of rows: every value is in its row. */
const TEXTS: RowTexts = {
  maxBytes: MAX_TEXT_BYTES,
  write: (json, kind, name) => withinLimit(json, MAX_TEXT_BYTES, kind, name),
  read: (text) => JSON.parse(String(text)),
  sizeOf: (text) => String(text).length,
};

/** A connection of node:sqlite. */
export class SqliteConnection extends SqliteTransactions implements SqlConnection {
  readonly shared = true;
  readonly texts = TEXTS;
  readonly maxPageChars = MAX_PAGE_CHARS;
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super(database);
    this.#database = database;
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }
}
