import { ConfigurationError, EventloomError, type Platform, StorageError, systemPlatform } from '@eventloom/core';
import {
  listenToClient,
  listenToPool,
  migrateTables,
  type PostgresClient,
  type PostgresPool,
  type PostgresQuery,
  type PostgresResult,
  readVersion,
  storageFailure,
  versionOf,
} from '@eventloom/core/internal';
import { type Migration, MIGRATIONS } from './schema.ts';
import { checkCurrent, checkVersion, SCHEMA_VERSION, VERSION_KEY } from './schema-version.ts';
import { stateTooLarge } from '../state-limit.ts';
import { STATE_TOO_LARGE } from './state-sql.ts';
import type { Statement } from './statement.ts';
import { type LeaseClock, type Tables, tablesOf } from './tables.ts';

/** Runs a statement of the driver, on the pool or in a transaction. */
export type RunStatement = (statement: Statement, values: unknown[]) => Promise<readonly unknown[]>;

/** Options of a database; see `PostgresSessionService`. */
interface PostgresDatabaseOptions {
  readonly schema?: string | undefined;
  readonly preparedStatements?: boolean | undefined;
  readonly queryTimeoutMs?: number | undefined;
  readonly leaseClock?: LeaseClock | undefined;
  readonly platform?: Platform | undefined;
}

const STORAGE = 'the session database';
const DEFAULT_QUERY_TIMEOUT_MS = 10_000;
/** The longest timer of every runtime, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Number of attempts at a transaction that PostgreSQL rolls back because of others. */
const ATTEMPTS = 10;
const MAX_WAIT_MS = 250;
/** Error codes of a deadlock and of a serialization failure. */
const UNDONE: readonly unknown[] = ['40P01', '40001'];
/** Error codes of a missing table, a missing column, and a prepared statement whose columns changed. */
const CHANGED: readonly unknown[] = ['42P01', '42703', '0A000'];
/** Classes of transient errors: connection, rollback, resources, state of an object, operator intervention, and system. */
const PASSING_CLASSES: readonly string[] = ['08', '40', '53', '55', '57', '58'];
/**
 * Error codes of a write to a read-only server, such as a standby, of a transaction whose process was stopped for too
 * long, and of a missing table: the tables were there, so the database is being restored or replaced.
 */
const PASSING: readonly unknown[] = ['25006', '25P03', '42P01'];
/**
 * Advice on a missing table. Tables are created only when a process starts: a restore that is under way would fail if they
 * appeared meanwhile.
 */
const ON_MISSING_TABLE = '; restore the tables, or restart this process, which creates them if they are missing';

/** Error code of a text that is not a number. */
const NO_NUMBER = '22P02';

/** The tables in a database that is reached through a pool. Missing tables are created before the first statement. */
export class PostgresDatabase {
  readonly tables: Tables;
  readonly #pool: PostgresPool;
  readonly #schema: string | undefined;
  readonly #prepares: boolean;
  readonly #timeoutMs: number;
  /** Begins a transaction. A process that is stopped inside it must not keep the rows of its sessions locked for others. */
  readonly #begin: string;
  readonly #leaseClock: LeaseClock;
  readonly #platform: Platform;
  #ready: Promise<void> | undefined;
  #isReady = false;

  /** @throws ConfigurationError for an invalid schema name, and for a `queryTimeoutMs` that is not a duration */
  constructor(pool: PostgresPool, options: PostgresDatabaseOptions = {}) {
    const { schema, queryTimeoutMs = DEFAULT_QUERY_TIMEOUT_MS, leaseClock = 'database' } = options;
    if (!(queryTimeoutMs > 0 && queryTimeoutMs <= MAX_TIMER_MS))
      throw new ConfigurationError(
        `PostgresSessionService: queryTimeoutMs: expected a number above 0 and at most ${MAX_TIMER_MS}, got ${queryTimeoutMs}; write queryTimeoutMs: 10_000`,
      );
    this.tables = tablesOf(schema, leaseClock);
    this.#leaseClock = leaseClock;
    this.#pool = pool;
    this.#schema = schema;
    this.#prepares = options.preparedStatements ?? true;
    this.#timeoutMs = queryTimeoutMs;
    // Half of the time, so that statements of others that wait for these rows are answered in time.
    this.#begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(queryTimeoutMs / 2)}`;
    this.#platform = options.platform ?? systemPlatform;
    listenToPool(pool);
  }

  /** The time of this process's clock. */
  get nowMs(): number {
    return this.#platform.now();
  }

  /** Returns the last parameters of a statement that needs the time only for leases: none if leases use the database's clock. */
  clockValues(nowMs: number): number[] {
    return this.#leaseClock === 'platform' ? [nowMs] : [];
  }

  /**
   * Creates missing tables, once. After a failure the next call tries again.
   *
   * @throws StorageError, ConfigurationError
   */
  ready(): Promise<void> {
    this.#ready ??= this.#migrate().then(
      () => void (this.#isReady = true),
      (error: unknown) => {
        this.#ready = undefined;
        throw failureOf(error);
      },
    );
    return this.#ready;
  }

  /**
   * Runs one statement as its own transaction.
   *
   * @throws StorageError
   */
  readonly run: RunStatement = (statement, values) =>
    this.#attempt(async () => (await this.#ask(this.#toQuery(statement, values))).rows);

  /**
   * Runs statements in one transaction, which is rolled back if the work throws. The work may run more than once.
   *
   * @throws StorageError
   */
  transaction<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    return this.#attempt(() =>
      this.#withClient(async (client) => {
        await this.#within(client.query({ text: this.#begin }));
        const result = await work(async (statement, values) => {
          return (await this.#within(client.query(this.#toQuery(statement, values)))).rows;
        });
        await this.#within(client.query({ text: 'COMMIT' }));
        return result;
      }),
    );
  }

  /**
   * Checks the version of the tables after a write that found no row.
   *
   * @throws ConfigurationError if the tables have another version
   * @throws StorageError
   */
  checkVersion(): Promise<void> {
    return this.#attempt(() => this.#checkVersion());
  }

  async #checkVersion(): Promise<void> {
    const client = { query: (query: PostgresQuery) => this.#ask(query) };
    checkCurrent(await readVersion(client, { meta: this.tables.meta, versionKey: VERSION_KEY }));
  }

  #migrate(): Promise<void> {
    return this.#withClient(async (client) => {
      const reader = { query: (query: PostgresQuery) => this.#within(client.query(query)) };
      const version = await versionOf(reader, {
        meta: this.tables.meta,
        versionKey: VERSION_KEY,
        schema: this.#schema,
      });
      checkVersion(version);
      // No time limit, because creating an index over all events, or waiting for another program that creates it, takes long.
      if (version < SCHEMA_VERSION) await migrateSessions(client, this.tables, this.#schema);
    });
  }

  /** Runs work on a connection. If it fails, it is rolled back; a connection that cannot roll back is closed. */
  async #withClient<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let isLost = false;
    try {
      return await work(client);
    } catch (error) {
      // The only StorageError here is that of a connection that did not answer in time.
      isLost = StorageError.isInstance(error);
      if (!isLost) await this.#within(client.query({ text: 'ROLLBACK' })).catch(() => void (isLost = true));
      throw error;
    } finally {
      client.release(isLost);
    }
  }

  async #connect(): Promise<PostgresClient> {
    const connecting = this.#pool.connect();
    try {
      const client = await this.#within(connecting);
      listenToClient(client);
      return client;
    } catch (error) {
      connecting.then(
        (late) => late.release(),
        () => undefined, // The original error is thrown.
      );
      throw error;
    }
  }

  /** Runs a statement on any connection of the pool, which closes a connection that does not answer in time. */
  #ask(query: PostgresQuery): Promise<PostgresResult> {
    query.query_timeout = this.#timeoutMs;
    return this.#within(this.#pool.query(query));
  }

  /**
   * Waits for the database.
   *
   * @throws StorageError if that takes too long; the work may still be done
   */
  #within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = (): void =>
        reject(new StorageError(`${STORAGE} did not answer within ${this.#timeoutMs} ms; try again`));
      const callOff = this.#platform.schedule(this.#timeoutMs, late);
      work.then(
        (answer) => {
          callOff();
          resolve(answer);
        },
        (error: unknown) => {
          callOff();
          reject(error);
        },
      );
    });
  }

  #toQuery({ name, text }: Statement, values: unknown[]): PostgresQuery {
    return this.#prepares ? { name, text, values } : { text, values };
  }

  /**
   * Returns the error to throw for a table or a column that is missing: that of its check, if the version of the tables
   * is another or unknown.
   */
  #reasonOf(error: unknown): Promise<unknown> {
    return this.#checkVersion().then(
      () => error,
      (reason: unknown) => reason,
    );
  }

  /** Does the work, and repeats it with growing delays if PostgreSQL rolled it back because of other transactions. */
  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    const startedMs = this.#platform.now();
    for (let attempt = 1; ; attempt++) {
      try {
        if (!this.#isReady) await this.#within(this.ready());
        return await work();
      } catch (error) {
        const code = codeOf(error);
        if (!UNDONE.includes(code) || attempt === ATTEMPTS) {
          const failure = failureOf(CHANGED.includes(code) ? await this.#reasonOf(error) : error);
          if (StorageError.isInstance(failure)) failure.waitedMs = this.#platform.now() - startedMs;
          throw failure;
        }
      }
      const waitMs = Math.min(2 ** attempt, MAX_WAIT_MS) * this.#platform.random();
      await new Promise<void>((resolve) => void this.#platform.schedule(waitMs, resolve));
    }
  }
}

/** Migrates the session tables to the version of this program. @throws ConfigurationError if a newer program created them */
export function migrateSessions(
  client: Pick<PostgresClient, 'query'>,
  tables: Tables,
  schema: string | undefined,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const steps = migrations.map((step) => step(tables));
  const place = { meta: tables.meta, versionKey: VERSION_KEY, schema };
  return migrateTables(client, place, steps, (version) => checkVersion(version, steps.length));
}

/** Converts an error of the pool, its connections or the server to a StorageError, or to a SizeLimitError for state that is too large. */
function failureOf(thrown: unknown): unknown {
  const isOfServer = !EventloomError.isInstance(thrown) && thrown instanceof Error && 'severity' in thrown;
  if (!isOfServer) return storageFailure(STORAGE, thrown);
  const code = String(codeOf(thrown));
  const [, scope, size] = (code === NO_NUMBER && STATE_TOO_LARGE.exec(thrown.message)) || [];
  if (scope !== undefined) return stateTooLarge(scope, Number(size));
  const retryable = PASSING.includes(code) || PASSING_CLASSES.includes(code.slice(0, 2));
  const failure = StorageError.of(STORAGE, thrown, retryable);
  if (code !== '42P01') return failure;
  const { message, publicMessage } = failure;
  return new StorageError(message + ON_MISSING_TABLE, { cause: thrown, retryable, publicMessage });
}

/** Returns the code of an error, which is the SQLSTATE of an error of the server. */
export function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
