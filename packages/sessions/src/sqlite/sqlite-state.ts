import type { StateWrite } from '@eventloom/core';
import type { StatementSync } from 'node:sqlite';
import type { StateEntry } from '../session-driver.ts';
import type { Statements } from './statements.ts';

/** State in its three tables, a key a row. Called inside a transaction. */
export class SqliteState {
  readonly #read: StatementSync;
  readonly #set: Readonly<Record<StateWrite['scope'], StatementSync>>;
  readonly #remove: Readonly<Record<StateWrite['scope'], StatementSync>>;

  constructor(sql: Statements) {
    this.#read = sql.state;
    this.#set = { app: sql.setAppState, user: sql.setUserState, session: sql.setSessionState };
    this.#remove = { app: sql.removeAppState, user: sql.removeUserState, session: sql.removeSessionState };
  }

  /** Everything that a session sees. `pk` is the session's row. */
  read(appName: string, userId: string, pk: number): StateEntry[] {
    return this.#read.all(appName, userId, pk).map(({ scope, key, value }) => ({
      scope: scope as StateEntry['scope'],
      key: String(key),
      value: JSON.parse(String(value)) as unknown,
    }));
  }

  write(appName: string, userId: string, pk: number, writes: readonly StateWrite[]): void {
    for (const { scope, key, value } of writes) {
      if (value === undefined) this.#remove[scope].run(appName, userId, pk, key);
      else this.#set[scope].run(appName, userId, pk, key, JSON.stringify(value));
    }
  }
}
