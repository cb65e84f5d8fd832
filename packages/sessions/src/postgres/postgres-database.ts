import { type Platform, SessionBusyError } from '@eventloom/core';
import { migrateSessions, readVersion } from './migrate-sessions.ts';
import type { PostgresClient, PostgresPool, PostgresQuery } from './postgres-pool.ts';
import { checkCurrent } from './schema-version.ts';
import type { Statement } from './statement.ts';
import { type Tables, tablesOf } from './tables.ts';

/** Runs the driver's statements: at once on the pool, or in a transaction. */
export type RunStatement = (statement: Statement, values: unknown[]) => Promise<readonly unknown[]>;

/** How often a transaction is tried that PostgreSQL undid to let others go on. */
const ATTEMPTS = 10;
const MAX_WAIT_MS = 250;
/** A deadlock, and a failure to serialise. */
const UNDONE: readonly unknown[] = ['40P01', '40001'];
/** A table or a column that is not there, and a prepared statement whose columns changed. */
const CHANGED: readonly unknown[] = ['42P01', '42703', '0A000'];

/** The tables in a database behind a pool. They are made, or found to be there, before the first statement. */
export class PostgresDatabase {
  readonly tables: Tables;
  readonly #pool: PostgresPool;
  readonly #schema: string | undefined;
  readonly #prepares: boolean;
  readonly #platform: Platform;
  #ready: Promise<void> | undefined;

  /** @throws ConfigurationError for a schema that cannot be one */
  constructor(pool: PostgresPool, schema: string | undefined, prepares: boolean, platform: Platform) {
    this.tables = tablesOf(schema);
    this.#pool = pool;
    this.#schema = schema;
    this.#prepares = prepares;
    this.#platform = platform;
  }

  /** Makes what is missing, once. What failed is tried again by the next call. */
  ready(): Promise<void> {
    this.#ready ??= this.#migrate().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** Runs one statement, which is a transaction by itself. */
  readonly run: RunStatement = async (statement, values) => {
    await this.ready();
    return this.#retry(async () => (await this.#pool.query(this.#toQuery(statement, values))).rows);
  };

  /** Runs statements that are written together or, when the work throws, not at all. The work may be run more than once. */
  async transaction<T>(work: (run: RunStatement) => Promise<T>): Promise<T> {
    await this.ready();
    return this.#retry(() =>
      this.#withClient(async (client) => {
        await client.query({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' });
        const result = await work(async (statement, values) => {
          return (await client.query(this.#toQuery(statement, values))).rows;
        });
        await client.query({ text: 'COMMIT' });
        return result;
      }),
    );
  }

  /** For a write that found nothing to write to. @throws ConfigurationError when that is because the tables are of another version */
  async checkVersion(): Promise<void> {
    checkCurrent(await readVersion(this.#pool, this.tables));
  }

  #migrate(): Promise<void> {
    return this.#withClient((client) => migrateSessions(client, this.tables, this.#schema));
  }

  /** Whatever fails in the work is rolled back; a connection on which that cannot be done is closed. */
  async #withClient<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    let isBroken = false;
    // A lost connection fails the statement that needs it. Without a listener it would end the process as well.
    const onLost = (): void => void (isBroken = true);
    client.on('error', onLost);
    try {
      return await work(client);
    } catch (error) {
      await client.query({ text: 'ROLLBACK' }).catch(onLost);
      throw error;
    } finally {
      client.off('error', onLost);
      client.release(isBroken);
    }
  }

  #toQuery({ name, text }: Statement, values: unknown[]): PostgresQuery {
    return this.#prepares ? { name, text, values } : { text, values };
  }

  /** Once more, after a while that is longer each time, what PostgreSQL undid to let others go on. */
  async #retry<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (cause) {
        const code = codeOf(cause);
        if (CHANGED.includes(code)) await this.checkVersion();
        if (!UNDONE.includes(code)) throw cause;
        if (attempt === ATTEMPTS) {
          throw new SessionBusyError(`PostgreSQL undid this ${ATTEMPTS} times to let other writers go on; try again`, {
            cause,
          });
        }
      }
      const waitMs = Math.min(2 ** attempt, MAX_WAIT_MS) * Math.random();
      await new Promise<void>((resolve) => void this.#platform.schedule(waitMs, resolve));
    }
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
