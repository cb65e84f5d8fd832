import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Runs work on a connection in one transaction, which is rolled back if the work throws. */
export class SqliteTransactions {
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #beginWrite: StatementSync;
  readonly #commit: StatementSync;
  readonly #rollback: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#begin = database.prepare('BEGIN');
    this.#beginWrite = database.prepare('BEGIN IMMEDIATE');
    this.#commit = database.prepare('COMMIT');
    this.#rollback = database.prepare('ROLLBACK');
  }

  /** Runs several reads that see the same state. */
  read<T>(work: () => T): T {
    return this.#run(this.#begin, work);
  }

  /** Runs several writes that are stored together or not at all. */
  write<T>(work: () => T): T {
    return this.#run(this.#beginWrite, work);
  }

  #run<T>(begin: StatementSync, work: () => T): T {
    begin.run();
    try {
      const result = work();
      this.#commit.run();
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#rollback.run();
      throw error;
    }
  }
}

/** Returns the version of the tables of a service, which is in the table `eventloom_meta` under this key; 0 if there is none. */
export function storedVersion(database: DatabaseSync, key: string): number {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'eventloom_meta'").get();
  const row = table && database.prepare('SELECT value FROM eventloom_meta WHERE key = ?1').get(key);
  return Number(row?.['value'] ?? 0);
}
