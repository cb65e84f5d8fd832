import { migrateSessions } from './migrate-sessions.ts';
import type { PostgresClient, PostgresPool, PostgresQuery } from './postgres-pool.ts';
import type { Statement } from './statement.ts';
import { type Tables, tablesOf } from './tables.ts';

/** Runs the driver's statements: at once on the pool, or in a transaction. */
export type RunStatement = (statement: Statement, values: unknown[]) => Promise<readonly unknown[]>;

/** How often a transaction is tried that PostgreSQL undid to let others go on. */
const ATTEMPTS = 10;
const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';

/** The tables in a database behind a pool. They are made, or found to be there, before the first statement. */
export class PostgresDatabase {
  readonly tables: Tables;
  readonly #pool: PostgresPool;
  readonly #schema: string | undefined;
  readonly #prepares: boolean;
  #ready: Promise<void> | undefined;

  /** @throws ConfigurationError for a schema that cannot be one */
  constructor(pool: PostgresPool, schema: string | undefined, prepares: boolean) {
    this.tables = tablesOf(schema);
    this.#pool = pool;
    this.#schema = schema;
    this.#prepares = prepares;
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

  async #retry<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (attempt === ATTEMPTS || !wasUndone(error)) throw error;
      }
    }
  }
}

function wasUndone(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  return error.code === DEADLOCK || error.code === SERIALIZATION_FAILURE;
}
