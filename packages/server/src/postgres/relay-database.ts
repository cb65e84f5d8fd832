import { EventloomError, type Platform, ConfigurationError } from '@eventloom/core';
import { RunRelayError } from '../errors.ts';
import { type PostgresPool, reasonOf, listenToClient, migrateTables, versionOf } from '@eventloom/core/internal';
import type { RelayTables } from './relay-tables.ts';
import { migrations } from './relay-schema.ts';

/** The database of a relay. It creates missing tables before the first statement. A statement that exceeds the time limit fails. */
export class RelayDatabase {
  readonly #pool: PostgresPool;
  readonly #tables: RelayTables;
  readonly #platform: Platform;
  readonly #timeoutMs: number;
  #ready: Promise<void> | undefined;

  constructor(pool: PostgresPool, tables: RelayTables, platform: Platform, timeoutMs: number) {
    this.#pool = pool;
    this.#tables = tables;
    this.#platform = platform;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Returns the rows of a statement. `T` is their type according to its text.
   * @throws RunRelayError, and ConfigurationError if a newer program created the tables
   */
  async query<T>(text: string, values: unknown[]): Promise<readonly T[]> {
    const late = Promise.withResolvers<never>();
    const callOff = this.#platform.schedule(
      this.#timeoutMs,
      () => late.reject(new RunRelayError(`the database did not answer within ${this.#timeoutMs} ms; try again`)),
      { idle: true },
    );
    try {
      return (await Promise.race([this.#run(text, values), late.promise])) as readonly T[];
    } catch (cause) {
      if (EventloomError.isInstance(cause)) throw cause;
      const message = `runs of other processes cannot be looked up, because the database failed: ${reasonOf(cause)}`;
      throw new RunRelayError(message, { cause });
    } finally {
      callOff();
    }
  }

  async #run(text: string, values: unknown[]): Promise<readonly unknown[]> {
    this.#ready ??= migrateRunRelay(this.#pool, this.#tables).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    await this.#ready;
    return (await this.#pool.query({ text, values })).rows;
  }
}

/**
 * Migrates the relay's tables to the version of this program.
 *
 * @throws ConfigurationError if a newer program created the tables
 */
async function migrateRunRelay(pool: PostgresPool, tables: RelayTables): Promise<void> {
  const place = { meta: tables.meta, versionKey: 'relay.schema', schema: tables.schema };
  const version = await versionOf(pool, place);
  checkVersion(version);
  if (version === migrations.length) return;
  const client = await pool.connect();
  listenToClient(client);
  let isBroken = false;
  try {
    await migrateTables(
      client,
      place,
      migrations.map((step) => step(tables)),
      checkVersion,
    );
  } catch (error) {
    await client.query({ text: 'ROLLBACK' }).catch(() => void (isBroken = true));
    throw error;
  } finally {
    client.release(isBroken);
  }
}

function checkVersion(version: number): void {
  if (version > migrations.length)
    throw new ConfigurationError(
      `the run relay's tables have version ${version}, and this program supports versions up to ${migrations.length}; update @eventloom/server`,
    );
}
