import { checkScopeSize, MAX_STATE_BYTES } from '../state-limit.ts';
import type { RowTexts, SqlConnection, SqlStatement, StoredScope } from './sql-connection.ts';
import type { SqlStatements } from './statements.ts';

/** Maximum number of states whose size is remembered. */
const MAX_REMEMBERED = 1000;
/** Maximum size of a key without its value: its name, and a fixed number of bytes. */
const MAX_KEY_BYTES = 400;
/** Maximum number of UTF-8 bytes for one UTF-16 unit of a string. */
const MOST_BYTES_A_UNIT = 3;

/** The owner of state. */
type StateOwner = readonly [appName: string, userId: string, pk: number];

/**
 * Limits the size of the state of an app, a user and a session, because a session reads all three at once. A state is
 * measured only if it may have become too large since it was last measured.
 */
export class StateRoom {
  readonly #sql: SqlStatements;
  readonly #texts: RowTexts;
  /**
   * Bytes that can be written to each state before it is measured again. Writes that are rolled back count too. Empty after another process
   * has written.
   */
  readonly #rooms = new Map<string, number>();
  /** Reads a number that changes when another process has written; undefined if there is no other process. */
  readonly #version: SqlStatement | undefined;
  #lastVersion: unknown;

  constructor(sql: SqlStatements, connection: SqlConnection) {
    this.#sql = sql;
    this.#texts = connection.texts;
    this.#version = connection.shared ? connection.prepare('PRAGMA data_version') : undefined;
  }

  /**
   * Performs writes to one scope, inside a transaction. State that is already too large can be reduced.
   *
   * @param texts the values to set, in the form that the rows store
   * @throws SizeLimitError if the state is too large afterwards
   */
  keep(scope: StoredScope, owner: StateOwner, texts: readonly string[], write: () => void): void {
    if (texts.length === 0) return write();
    this.#forgetRooms();
    const name = JSON.stringify([scope, ...(scope === 'user' ? owner.slice(0, 2) : owner)]);
    // Other services may have written the state of an app.
    let room = (scope !== 'app' && this.#rooms.get(name)) || 0;
    for (const text of texts) room -= MAX_KEY_BYTES + this.#texts.sizeOf(text) * MOST_BYTES_A_UNIT;
    if (room < 0) {
      const measure = (): number => Number(this.#sql.stateSize.get(...owner, scope)?.['size']);
      const before = measure();
      write();
      const after = measure();
      checkScopeSize(scope, before, after);
      room = MAX_STATE_BYTES[scope] - Math.max(before, after);
    } else write();
    if (this.#rooms.size === MAX_REMEMBERED) this.#rooms.clear();
    this.#rooms.set(name, room);
  }

  #forgetRooms(): void {
    const version = this.#version?.get()?.['data_version'];
    if (version !== this.#lastVersion) this.#rooms.clear();
    this.#lastVersion = version;
  }
}
