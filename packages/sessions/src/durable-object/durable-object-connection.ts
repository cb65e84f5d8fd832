import type { DurableObjectStorage } from '@eventloom/core';
import { MAX_PAGE_CHARS } from '../session-driver.ts';
import type { LargeTexts } from './large-texts.ts';
import type { SqlConnection, SqlRow, SqlStatement } from '../sql/sql-connection.ts';

/** The members of a Durable Object's SQLite storage, `ctx.storage`, that are used. */
export interface DurableObjectSqlStorage extends DurableObjectStorage {
  /** Settles when all writes are durable. Without this method an attempt at a run is not counted if the run ends the object immediately. */
  sync?(): Promise<void>;
}

/** The SQL storage of a Durable Object. The object is the only writer, and no other work runs during synchronous work. */
export class DurableObjectConnection implements SqlConnection {
  readonly shared = false;
  readonly texts: LargeTexts;
  /** Smaller than elsewhere, because an object has 128 MB of memory. */
  readonly maxPageChars: number = MAX_PAGE_CHARS / 2;
  readonly #storage: DurableObjectSqlStorage;

  constructor(storage: DurableObjectSqlStorage, texts: LargeTexts) {
    this.#storage = storage;
    this.texts = texts;
  }

  /** Returns a statement. The storage caches prepared statements by their text. */
  prepare(query: string): SqlStatement {
    const { sql } = this.#storage;
    return {
      get: (...bindings) => sql.exec(query, ...bindings).toArray()[0],
      all: (...bindings): SqlRow[] => sql.exec(query, ...bindings).toArray(),
      run: (...bindings) => {
        sql.exec(query, ...bindings).toArray();
        return {
          get changes() {
            return Number(sql.exec('SELECT changes() AS changes').toArray()[0]?.['changes']);
          },
        };
      },
    };
  }

  exec(query: string): void {
    this.#storage.sql.exec(query).toArray();
  }

  read<T>(work: () => T): T {
    return this.#checked(work);
  }

  write<T>(work: () => T): T {
    return this.#storage.transactionSync(() => this.#checked(work));
  }

  #checked<T>(work: () => T): T {
    const result = work();
    this.texts.check();
    return result;
  }
}
