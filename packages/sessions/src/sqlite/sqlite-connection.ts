import { SqliteTransactions } from '@eventloom/core/internal/node';
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
export class SqliteConnection extends SqliteTransactions implements SqlConnection {
  readonly shared = true;
  readonly texts = TEXTS;
  readonly maxPageChars = MAX_PAGE_CHARS;
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super(database);
    this.#database = database;
  }

  prepare(sql: string): StatementSync {
    return this.#database.prepare(sql);
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }
}
