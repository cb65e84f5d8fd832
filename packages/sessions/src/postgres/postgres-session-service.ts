import { ConfigurationError } from '@eventloom/core';
import { type OptionRules, checkOptions, wrongOption } from '@eventloom/core/internal';

import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { PostgresDatabase } from './postgres-database.ts';
import type { PostgresPool } from '@eventloom/core/internal';
import type { LeaseClock } from './tables.ts';
import { PostgresSessionDriver } from './postgres-session-driver.ts';

/** Options of `PostgresSessionService`. */
export interface PostgresSessionServiceOptions extends DriverSessionServiceOptions {
  /**
   * Connections to the database: a `Pool` of the package `pg`, or an object of its shape. The caller owns it and ends it. Set its
   * `connectionTimeoutMillis`: without a value, connections to a server that does not answer occupy the pool for minutes. The service
   * listens to the pool's `error` event, so that a lost connection does not end the process.
   */
  readonly pool: PostgresPool;
  /**
   * Schema of the tables, created if it does not exist. Default: the tables are found by the `search_path` of the connections, which
   * must be the same for all of them; new tables are created in its first schema.
   */
  readonly schema?: string | undefined;
  /**
   * True (default) lets each connection prepare each statement once, with a name that begins with `eventloom_`. False is for poolers that
   * assign connections by transaction and do not track prepared statements; PostgreSQL then plans every call again.
   */
  readonly preparedStatements?: boolean | undefined;
  /**
   * The clock of leases; default `database`. All processes on one database must use the same clock. `platform` is for tests that move the
   * platform's clock; the clocks of all processes must then agree.
   */
  readonly leaseClock?: LeaseClock | undefined;
  /**
   * Maximum time that a call waits for the database, including a free connection, in milliseconds of the platform's clock. Default 10,000.
   * A statement that takes longer is a StorageError, and its connection is closed. Statements that create tables may take longer. The
   * server ends a transaction of a process that sends nothing for half of this time, so that a stopped process locks no session for others.
   */
  readonly queryTimeoutMs?: number | undefined;
}

const POOL = 'new Pool({ connectionString }), with Pool of the package pg';
const EXAMPLE = 'new PostgresSessionService({ pool: new Pool({ connectionString }) }), with Pool of the package pg';
const OPTIONS: OptionRules<PostgresSessionServiceOptions> = {
  pool: { is: 'object', wanted: 'a pool', write: POOL },
  schema: 'text',
  preparedStatements: 'flag',
  leaseClock: { is: 'text', oneOf: ['database', 'platform'] },
  queryTimeoutMs: 'number',
  platform: 'object',
};
const WRITE_POOL = `write pool: ${POOL}`;
const HINTS = { connectionString: WRITE_POOL, url: WRITE_POOL, database: WRITE_POOL, client: WRITE_POOL };

/**
 * Sessions in PostgreSQL 14 or later, for any number of processes. The names of the tables begin with `eventloom_`. The first call, or
 * `migrate`, creates or migrates the tables; the database's user needs the permission to create tables only for that.
 *
 * **Writes.** An append is one statement and one round trip, whatever the length of the history and the age of other transactions; a
 * refused append is two. The start of a run with a message is one statement, and so is its end. Granting and releasing a lease write the
 * session's row: while an old transaction stays open, each turn of a session makes its next ones a little slower, until that transaction
 * ends. Sessions wait for each other only while both write or remove the same `app:` or `user:` key; all writers lock such keys in the same
 * order, so they cause no deadlock. The isolation level is READ COMMITTED, PostgreSQL's default. A transaction that PostgreSQL rolls back
 * nevertheless, because of a stricter isolation level or other transactions, is tried up to ten times and is then a StorageError.
 * Acknowledged writes survive a crash if `fsync` and `synchronous_commit` are on. If the connection is lost during an append, the event may
 * be stored or not: appending it again with the same id stores it once.
 *
 * **Leases** are timed by the database's clock, so clocks of processes that differ cause no early or late takeover. A session has one
 * writer at any clock setting, because writes under an earlier lease are refused. Callers that wait in one process get the session in the
 * order of their requests; of the first waiting callers of several processes, the one that has waited longest. After a crash of the server,
 * the processes are in no particular order.
 *
 * **Limits.** An event or the response of a tool call takes up to 64 MiB as JSON, the state of a session up to
 * 17,000,000 bytes, and that of a user and of an app up to 4,000,000 each; larger ones are a SizeLimitError.
 *
 * **Errors** of the pool and of the database are the `cause` of a StorageError. It is retryable if the server cannot be reached, a
 * connection was lost, an answer took longer than `queryTimeoutMs`, or the server is full, starts, stops or is read-only, and not if a
 * permission is missing. A lost connection never ends the process, because the service listens to the `connect` and `error` events of the
 * pool.
 *
 * **Poolers** that assign connections by transaction, such as PgBouncer in transaction mode, work with `preparedStatements: false`. A
 * pooler that tracks prepared statements works without that option. Poolers that assign connections by statement do not work.
 *
 * **Upgrades.** Once a newer version has migrated the tables, writes of a program that still runs an older one are a ConfigurationError.
 */
export class PostgresSessionService extends DriverSessionService {
  readonly #database: PostgresDatabase;

  /**
   * @throws ConfigurationError for a schema name that PostgreSQL does not accept, a `queryTimeoutMs` that is not a positive finite number,
   * and an unknown option
   */
  constructor(options: PostgresSessionServiceOptions) {
    checkOptions('PostgresSessionService', OPTIONS, options, HINTS, EXAMPLE);
    if (typeof options.pool?.query !== 'function')
      throw wrongOption('PostgresSessionService', 'pool', 'a pool', options.pool, POOL);
    // A client of pg has one connection, and the methods of a pool.
    if ('connectionParameters' in options.pool)
      throw new ConfigurationError(
        `PostgresSessionService: pool: expected a pool, got a client with one connection; write pool: ${POOL}`,
      );
    const database = new PostgresDatabase(options.pool, options);
    super(new PostgresSessionDriver(database), { platform: options.platform });
    this.#database = database;
  }

  /**
   * Creates or migrates the tables; does nothing if they are current. Any number of processes may call it concurrently. The first call of
   * any other method does the same.
   * @throws ConfigurationError if a newer version of this package created the tables; they are not changed
   * @throws StorageError if the database cannot be used
   */
  migrate(): Promise<void> {
    return this.#database.ready();
  }
}
