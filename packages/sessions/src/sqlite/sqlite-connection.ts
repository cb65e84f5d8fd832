import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { MAX_PAGE_CHARS } from '../session-driver.ts';
import { withinLimit } from '../sql/size-limit.ts';
import type { RowTexts, SqlConnection } from '../sql/sql-connection.ts';

const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/** The texts of rows: every value is in its row. */
const TEXTS: RowTexts = {
  maxBytes: MAX_TEXT_BYTES,
  write: (json, kind, name) => withinLimit(json, MAX_TEXT_BYTES, kind, name),
  read: (text) => JSON.parse(String(text)),
  sizeOf: (text) => String(text).length,
};

/** A connection of node:sqlite. */
export class SqliteConnection implements SqlConnection {
  readonly shared = true;
  readonly texts = TEXTS;
  readonly maxPageChars = MAX_PAGE_CHARS;
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

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  read<T>(work: () => T): T {
    return this.#run(this.#begin, work);
  }

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
