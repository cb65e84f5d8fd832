import { type OptionNames, checkKnown } from '@eventloom/core/internal';

import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { PostgresDatabase } from './postgres-database.ts';
import type { PostgresPool } from '@eventloom/core/internal';
import type { LeaseClock } from './tables.ts';
import { PostgresSessionDriver } from './postgres-session-driver.ts';

/** Options of `PostgresSessionService`. */
export interface PostgresSessionServiceOptions extends DriverSessionServiceOptions {
  /**
   * Connections to the database: a `Pool` of the package `pg`, or one of its shape. It stays its owner's, who ends it. Give it a
   * `connectionTimeoutMillis`: without one, connections to a server that does not answer take up its places for minutes. The service listens to
   * its `error` event, so that a lost connection does not end the process.
   */
  readonly pool: PostgresPool;
  /**
   * The schema of the tables, made when it is not there. Without it the tables are where a connection finds them by its
   * `search_path`, which must then be the same for all of them; new ones are made in the first schema of it.
   */
  readonly schema?: string | undefined;
  /**
   * True (default): each connection prepares each statement once, with a name that begins with `eventloom_`. Set it to
   * false for a pooler that assigns connections by transaction and does not track prepared statements: every call is
   * then planned again.
   */
  readonly preparedStatements?: boolean | undefined;
  /**
   * The clock of leases; default `database`. All processes on one database must use the same. `platform` is for tests
   * that move the platform's clock: the clocks of all processes must agree.
   */
  readonly leaseClock?: LeaseClock | undefined;
  /**
   * Time that a call waits for the database, a free connection included, in milliseconds of the platform's clock.
   * Default 10,000. A statement that takes longer is a StorageError, and its connection is closed. Statements that
   * create tables may take longer.
   */
  readonly queryTimeoutMs?: number | undefined;
}

const OPTIONS: OptionNames<PostgresSessionServiceOptions> = {
  pool: true,
  schema: true,
  preparedStatements: true,
  leaseClock: true,
  queryTimeoutMs: true,
  platform: true,
};
const WRITE_POOL = 'write pool: new Pool({ connectionString }), of the package pg';
const HINTS = { connectionString: WRITE_POOL, url: WRITE_POOL, database: WRITE_POOL, client: WRITE_POOL };

/**
 * Sessions in PostgreSQL 14 or later, for any number of processes. The tables begin with `eventloom_`. They are made or brought up
 * to date before the first call is answered, or by `migrate`; the database's user needs the right to make tables only for that.
 *
 * **Writes.** An append is one statement and one round trip, whatever the length of the history and however old the transactions
 * are that others keep open; one that is refused is two. A run that begins with a message is one statement as well, and so is its
 * end. A claim and a release of a lease write the session's row: while a transaction stays open that began long ago, each turn of
 * a session makes its next ones a little slower, until that transaction ends. Sessions never wait for each other, but for the
 * moment in which both write, or remove, the same `app:` or `user:` key; they take such keys in one order and so never undo each
 * other. It is written for READ COMMITTED, PostgreSQL's default. What PostgreSQL undoes all the same, for a stricter isolation or
 * for somebody else's transactions, is tried again after a while, ten times in all, and then a StorageError. What was
 * acknowledged survives what the server promises: with its `fsync` and `synchronous_commit` on, a crash of anything. When the
 * connection is lost during an append, the event may be stored or not: appending it again, with the same id, stores it once.
 *
 * **Leases.** Their times are those of the database's clock, so clocks of processes that differ let nobody take over a session early or
 * late. A session has one writer, whatever clocks say: a former owner's writes are refused. Of those who wait in several processes the one that came first is next; after a crash
 * of the server, those who wait are in no order.
 *
 * **Limits.** An event, a state value or the response of a tool call may take 64 MiB as JSON, and all values that a session is made
 * with 192 Mi characters; more is a SizeLimitError.
 *
 * **Errors** of the pool and of the database are the `cause` of a StorageError. It is retryable when the server cannot be reached, a connection
 * was lost, an answer took longer than `queryTimeoutMs`, or the server is full, starts, stops or only reads; not when a right is missing.
 * A lost connection never ends the process: a pool that emits `connect` and `error` is listened to.
 *
 * **Poolers** that hand out connections by the transaction, as PgBouncer does in transaction mode: with `preparedStatements: false`
 * nothing is expected of a connection but what happens in one transaction. A pooler that follows prepared statements by itself may do
 * without that option. Poolers that hand out connections by the statement do not work.
 *
 * **Upgrades.** A program that runs while a newer version brings the tables up to date writes nothing from then on: what it does is a
 * ConfigurationError.
 */
export class PostgresSessionService extends DriverSessionService {
  readonly #database: PostgresDatabase;

  /** @throws ConfigurationError for a schema whose name PostgreSQL does not take, a `queryTimeoutMs` that is no time, and an option this version does not have */
  constructor(options: PostgresSessionServiceOptions) {
    checkKnown('PostgresSessionService', OPTIONS, options, HINTS);
    const database = new PostgresDatabase(options.pool, options);
    super(new PostgresSessionDriver(database), { platform: options.platform });
    this.#database = database;
  }

  /**
   * Makes the tables, or brings them up to date; does nothing when they are. Any number of processes may do it at once, and the
   * first call of any method does it as well.
   * @throws ConfigurationError when a newer version of this package made them; they are left as they are
   * @throws StorageError when the database cannot be used
   */
  migrate(): Promise<void> {
    return this.#database.ready();
  }
}
