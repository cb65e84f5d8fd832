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
 * **Writes.** An append is one statement and one round trip, whatever the length of the history; one that is refused is two. Sessions
 * never wait for each other, but for the moment in which both write the same `app:` or `user:` key. What PostgreSQL undoes to end a
 * deadlock is tried again, up to ten times. It is written for READ COMMITTED, PostgreSQL's default: under a stricter one, writers that
 * meet are undone and tried again as well. What was acknowledged survives what the server promises: with its `fsync` and
 * `synchronous_commit` on, a crash of anything. When the connection is lost during an append, the event may be stored or not: appending
 * it again, with the same id, stores it once. The server's log calls such a second append a duplicate key.
 *
 * **Leases.** Their times are those of the clocks of the processes that write. A clock that is ahead lets its process take over a
 * session early: `ttlMs` should be well above the difference between clocks. A session still has one writer, whatever the clocks
 * say: the former owner's writes are refused.
 *
 * **Limits.** An event, a state value or the response of a tool call may take 64 MiB as JSON; more is a SizeLimitError.
 *
 * **Errors** of the pool and of the database that are nobody's fault here are passed on as they are: a server that cannot be reached,
 * a connection that was lost, a right that is missing.
 *
 * **PgBouncer** in transaction mode works: from version 1.21 on as it is, when `max_prepared_statements` is not 0; otherwise with
 * `preparedStatements: false`. Statement mode does not work.
 */
export class PostgresSessionService extends DriverSessionService {
  readonly #database: PostgresDatabase;

  /** @throws ConfigurationError for a schema whose name PostgreSQL does not take */
  constructor(options: PostgresSessionServiceOptions) {
    const { pool, schema, preparedStatements = true } = options;
    const database = new PostgresDatabase(pool, schema, preparedStatements);
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
