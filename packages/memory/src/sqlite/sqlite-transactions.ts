import { MemoryBusyError } from '@eventloom/core';
import type { DatabaseSync } from 'node:sqlite';
import type { Statements } from './statements.ts';

const SQLITE_BUSY = 5;

/** Runs work on a connection as one unit. A file that stays locked by another process is a retryable error. */
export class SqliteTransactions {
  readonly #database: DatabaseSync;
  readonly #sql: Statements;

  constructor(database: DatabaseSync, sql: Statements) {
    this.#database = database;
    this.#sql = sql;
  }

  /** Several statements that see one moment. */
  read<T>(work: () => T): T {
    return this.#run(this.#sql.begin, work);
  }

  /** Several statements that are written together or not at all. */
  write<T>(work: () => T): T {
    return this.#run(this.#sql.beginWrite, work);
  }

  #run<T>(begin: Statements['begin'], work: () => T): T {
    try {
      begin.run();
      try {
        const result = work();
        this.#sql.commit.run();
        return result;
      } catch (error) {
        if (this.#database.isTransaction) this.#sql.rollback.run();
        throw error;
      }
    } catch (cause) {
      if (cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY) {
        throw new MemoryBusyError('the memory database stays locked by another process; try again', { cause });
      }
      throw cause;
    }
  }
}
