import type { StateWrite } from '@eventloom/core';
import { prefixedKey } from '@eventloom/core/internal';
import type { StateEntry } from '../session-driver.ts';
import { withinLimit } from './size-limit.ts';
import { StateRoom } from './state-room.ts';
import type { RowTexts, SqlRow, SqlStatement } from './sql-connection.ts';
import type { SqlStatements } from './statements.ts';

type ByScope = Readonly<Record<StateWrite['scope'], SqlStatement>>;

const SCOPES = ['app', 'user', 'session'] as const;

/** State in its three tables, a key a row. Called inside a transaction. */
export class SqlState {
  readonly #sql: SqlStatements;
  readonly #texts: RowTexts;
  readonly #set: ByScope;
  readonly #remove: ByScope;
  /** Of the app and the user: only where the key is not there. */
  readonly #add: ByScope;
  readonly #room: StateRoom;

  constructor(sql: SqlStatements, texts: RowTexts) {
    this.#sql = sql;
    this.#texts = texts;
    this.#room = new StateRoom(sql, texts);
    this.#set = { app: sql.setAppState, user: sql.setUserState, session: sql.setSessionState };
    this.#remove = { app: sql.removeAppState, user: sql.removeUserState, session: sql.removeSessionState };
    this.#add = { app: sql.addAppState, user: sql.addUserState, session: sql.setSessionState };
  }

  /** Everything that a session sees. `pk` is the session's row. */
  read(appName: string, userId: string, pk: number): StateEntry[] {
    return this.#toEntries(this.#sql.state.all(appName, userId, pk));
  }

  /** @throws SizeLimitError */
  write(appName: string, userId: string, pk: number, writes: readonly StateWrite[]): void {
    this.#write(this.#set, appName, userId, pk, writes);
  }

  /** Writes like `write`, but keeps keys of the app and the user that exist. @throws SizeLimitError */
  add(appName: string, userId: string, pk: number, writes: readonly StateWrite[]): void {
    this.#write(this.#add, appName, userId, pk, writes);
  }

  /**
   * Reads the states of one app's sessions. What they share is read once and is the same object in all of them; `size` is how much
   * was read, in characters of JSON.
   */
  pageReader(appName: string): { read(userId: string, pk: number): StateEntry[]; readonly size: number } {
    let size = 0;
    const toEntries = (rows: SqlRow[]): StateEntry[] => {
      for (const { value } of rows) size += this.#texts.sizeOf(value);
      return this.#toEntries(rows);
    };
    const ofApp = toEntries(this.#sql.appState.all(appName));
    const ofUsers = new Map<string, StateEntry[]>();
    const read = (userId: string, pk: number): StateEntry[] => {
      let ofUser = ofUsers.get(userId);
      if (!ofUser) ofUsers.set(userId, (ofUser = toEntries(this.#sql.userState.all(appName, userId))));
      return [...ofApp, ...ofUser, ...toEntries(this.#sql.sessionState.all(pk))];
    };
    return {
      read,
      get size() {
        return size;
      },
    };
  }

  readInitial(pk: number): StateEntry[] {
    return this.#toEntries(this.#sql.initialState.all(pk));
  }

  /** Makes the session's keys of now its initial state. */
  keepAsInitial(pk: number): void {
    this.#sql.keepInitialState.run(pk);
  }

  /** @throws SizeLimitError */
  writeInitial(pk: number, writes: readonly StateWrite[]): void {
    for (const write of writes) {
      if (write.value !== undefined) this.#sql.setInitialState.run(pk, write.key, this.#toText(write));
    }
  }

  #write(set: ByScope, appName: string, userId: string, pk: number, writes: readonly StateWrite[]): void {
    if (writes.length === 0) return;
    for (const scope of SCOPES) {
      const rows = writes
        .filter((write) => write.scope === scope)
        .map((write) => ({ key: write.key, text: write.value === undefined ? undefined : this.#toText(write) }));
      this.#room.keep(
        scope,
        [appName, userId, pk],
        rows.flatMap(({ text }) => text ?? []),
        () => {
          for (const { key, text } of rows) {
            if (text === undefined) {
              // A copy of the app's state may lack the key: who watches the table is told of the removal all the same.
              if (scope === 'app') this.#add.app.run(appName, userId, pk, key, 'null');
              this.#remove[scope].run(appName, userId, pk, key);
            } else set[scope].run(appName, userId, pk, key, text);
          }
        },
      );
    }
  }

  /** State of the app is copied from one database to another, row by row: it lies in its row. */
  #toText({ scope, key, value }: StateWrite): string {
    const json = JSON.stringify(value);
    const texts = this.#texts;
    return scope === 'app'
      ? withinLimit(json, texts.maxBytes, 'state key', prefixedKey(scope, key))
      : texts.write(json, 'state key', prefixedKey(scope, key));
  }

  /** A row after the other lets go of its text: all of them and what they say are not in memory at once. Takes the rows. */
  #toEntries(rows: SqlRow[]): StateEntry[] {
    const entries: StateEntry[] = [];
    rows.reverse();
    for (let row = rows.pop(); row; row = rows.pop()) entries.push(this.#toEntry(row));
    return entries;
  }

  readonly #toEntry = ({ scope, key, value }: SqlRow): StateEntry => ({
    scope: scope as StateEntry['scope'],
    key: String(key),
    value: this.#texts.read(value),
  });
}
