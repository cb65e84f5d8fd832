import type { StateWrite } from '@eventloom/core';
import { prefixedKey } from '@eventloom/core/internal';
import type { StateEntry } from '../session-driver.ts';
import { withinLimit } from './size-limit.ts';
import { StateRoom } from './state-room.ts';
import type { RowTexts, SqlConnection, SqlRow, SqlStatement } from './sql-connection.ts';
import type { SqlStatements } from './statements.ts';

type ByScope = Readonly<Record<StateWrite['scope'], SqlStatement>>;

const SCOPES = ['app', 'user', 'session'] as const;

/** The state of apps, users and sessions, each in a table with a row for each key. Called inside a transaction. */
export class SqlState {
  readonly #sql: SqlStatements;
  readonly #texts: RowTexts;
  readonly #set: ByScope;
  readonly #remove: ByScope;
  /** Statements that write keys of the app and the user only if they are absent. */
  readonly #add: ByScope;
  readonly #room: StateRoom;

  constructor(sql: SqlStatements, connection: SqlConnection) {
    this.#sql = sql;
    this.#texts = connection.texts;
    this.#room = new StateRoom(sql, connection);
    this.#set = { app: sql.setAppState, user: sql.setUserState, session: sql.setSessionState };
    this.#remove = { app: sql.removeAppState, user: sql.removeUserState, session: sql.removeSessionState };
    this.#add = { app: sql.addAppState, user: sql.addUserState, session: sql.setSessionState };
  }

  /** Reads the merged state of a session. `pk` is the key of its row. */
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
   * Returns a reader of the states of one app's sessions. Shared state is read once and is the same object in all sessions; `size` is the
   * number of characters of JSON that were read.
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

  /** Stores the session's current keys as its initial state. */
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
              // A replica of the app's state may lack the key, but its triggers must see the removal.
              if (scope === 'app') this.#add.app.run(appName, userId, pk, key, 'null');
              this.#remove[scope].run(appName, userId, pk, key);
            } else set[scope].run(appName, userId, pk, key, text);
          }
        },
      );
    }
  }

  /** State of the app is always in its row, because it is copied between databases row by row. */
  #toText({ scope, key, value }: StateWrite): string {
    const json = JSON.stringify(value);
    const texts = this.#texts;
    return scope === 'app'
      ? withinLimit(json, texts.maxBytes, 'state key', prefixedKey(scope, key))
      : texts.write(json, 'state key', prefixedKey(scope, key));
  }

  /** Parses the rows one by one and releases each text, so that not all texts and values are in memory at once. Empties `rows`. */
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
