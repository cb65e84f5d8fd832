import { systemPlatform } from '@eventloom/core';
import { DriverSessionService, type DriverSessionServiceOptions } from '../driver-session-service.ts';
import { PostgresDatabase } from './postgres-database.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { PostgresSessionDriver } from './postgres-session-driver.ts';

/** Options of `PostgresSessionService`. */
export interface PostgresSessionServiceOptions extends DriverSessionServiceOptions {
  /**
   * Connections to the database: a `Pool` of the package `pg`, or one of its shape. It stays its owner's, who ends it, and who
   * listens to its `error` event: a pool emits it when an idle connection is lost, and node ends a process that does not listen.
   */
  readonly pool: PostgresPool;
  /**
   * The schema of the tables, made when it is not there. Without it the tables are where a connection finds them by its
   * `search_path`, which must then be the same for all of them; new ones are made in the first schema of it.
   */
  readonly schema?: string | undefined;
  /**
   * Default true: a connection prepares each statement once, by a name that begins with `eventloom_`. Set it to false for a pooler
   * that hands out connections by the transaction and does not follow prepared statements: every call is planned anew, then.
   */
  readonly preparedStatements?: boolean | undefined;
}

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
 * for somebody else's transactions, is tried again after a while, ten times in all, and then a SessionBusyError. What was
 * acknowledged survives what the server promises: with its `fsync` and `synchronous_commit` on, a crash of anything. When the
 * connection is lost during an append, the event may be stored or not: appending it again, with the same id, stores it once.
 *
 * **Leases.** Their times are those of the clocks of the processes that write. A clock that is ahead lets its process take over a
 * session early: `ttlMs` should be well above the difference between clocks. A session still has one writer, whatever the clocks
 * say: the former owner's writes are refused. Of those who wait in several processes the one that came first is next; after a crash
 * of the server, those who wait are in no order.
 *
 * **Limits.** An event, a state value or the response of a tool call may take 64 MiB as JSON, and all values that a session is made
 * with 192 Mi characters; more is a SizeLimitError.
 *
 * **Errors** of the pool and of the database that are nobody's fault here are passed on as they are: a server that cannot be reached,
 * a connection that was lost, a right that is missing.
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

  /** @throws ConfigurationError for a schema whose name PostgreSQL does not take */
  constructor(options: PostgresSessionServiceOptions) {
    const { pool, schema, preparedStatements = true, platform = systemPlatform } = options;
    const database = new PostgresDatabase(pool, schema, preparedStatements, platform);
    super(new PostgresSessionDriver(database), options);
    this.#database = database;
  }

  /**
   * Makes the tables, or brings them up to date; does nothing when they are. Any number of processes may do it at once, and the
   * first call of any method does it as well.
   * @throws ConfigurationError when a newer version of this package made them; they are left as they are
   */
  migrate(): Promise<void> {
    return this.#database.ready();
  }
}
