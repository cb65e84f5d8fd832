import type { MaybePromise } from '@eventloom/core';
import type { StateEntry } from '../session-driver.ts';

export type StoredScope = StateEntry['scope'];

/** A value that can be bound to a parameter. A number may always arrive as REAL, so SQL that needs an integer uses bit operators. */
export type SqlValue = null | number | string;

/** A row with its columns by name. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** A prepared statement with numbered parameters. Calls are synchronous and run the statement to its end. */
export interface SqlStatement {
  /** Returns the first row; undefined if there is none. */
  get(...bindings: SqlValue[]): SqlRow | undefined;
  /** Returns all rows. */
  all(...bindings: SqlValue[]): SqlRow[];
  /** Returns the number of changed rows. Read it before the connection runs another statement. */
  run(...bindings: SqlValue[]): { readonly changes: number | bigint };
}

/** Converts values to and from the texts in rows. */
export interface RowTexts {
  /** Maximum size of a text in a row, in bytes of UTF-8. The row has room for names of a few thousand bytes in addition. */
  readonly maxBytes: number;
  /**
   * Returns the text that a row stores for a value: its JSON, or its address, which begins with `@`. `share` is the
   * number of such values in the row, default 1.
   * @throws SizeLimitError that names it
   */
  write(json: string, kind: string, name: string, share?: number): string;
  /** Returns the value of such a text. It may be a placeholder for a value outside the row; then `SqlConnection` rolls the work back. */
  read(text: unknown): unknown;
  /** Returns the approximate number of characters of the value's JSON. */
  sizeOf(text: unknown): number;
}

/**
 * A database in the dialect of SQLite, as `SqlSessionDriver` needs it. A statement outside `read` and `write` is a
 * transaction by itself.
 */
export interface SqlConnection {
  /** True if other processes may write to the same database. */
  readonly shared: boolean;
  readonly texts: RowTexts;
  /** Size at which a page of a listing ends: see `MAX_PAGE_CHARS`. */
  readonly maxPageChars: number;
  prepare(sql: string): SqlStatement;
  /** Runs statements without parameters and results. */
  exec(sql: string): void;
  /** Runs statements that read one snapshot. */
  read<T>(work: () => T): T;
  /** Runs statements in one transaction, which is rolled back if the work throws. Not called inside another. */
  write<T>(work: () => T): T;
}

/**
 * Runs work and returns its result synchronously, or later if the work has to be repeated. Repeated work has changed nothing in earlier
 * attempts.
 */
export interface SqlWork {
  read<T>(work: () => T): MaybePromise<T>;
  /** Runs work that writes. Later work may overtake work that has to be repeated: await each call if the order matters. */
  write<T>(work: () => T): MaybePromise<T>;
}
