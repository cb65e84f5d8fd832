import { SizeLimitError } from '@eventloom/core';
import type { RowTexts, StoredScope } from './sql-connection.ts';
import type { SqlStatements } from './statements.ts';

/** Maximum number of states whose size is remembered. */
const MAX_REMEMBERED = 1000;
/** Maximum size of a key without its value: its name, and a fixed number of bytes. */
const MAX_KEY_BYTES = 400;
/** UTF-8 needs at most so many bytes for a unit of a string's length. */
const MOST_BYTES_A_UNIT = 3;

/** The owner of state. */
export type StateOwner = readonly [appName: string, userId: string, pk: number];

/**
 * Keeps the state of an app, a user and a session within what memory takes: a session reads all three at once. A state is measured when it
 * might have become too large since it was measured last, and not at every write.
 */
export class StateRoom {
  readonly #sql: SqlStatements;
  readonly #texts: RowTexts;
  /** At least how much may be written to a state before it has to be measured again. What is rolled back counts as well. */
  readonly #rooms = new Map<string, number>();

  constructor(sql: SqlStatements, texts: RowTexts) {
    this.#sql = sql;
    this.#texts = texts;
  }

  /**
   * Does writes to one scope, inside a transaction. What is too large already may be made smaller.
   * @param texts what is set, as it lies in rows
   * @throws SizeLimitError when the state is too large then
   */
  keep(scope: StoredScope, owner: StateOwner, texts: readonly string[], write: () => void): void {
    const most = this.#texts.maxState?.[scope];
    if (most === undefined) return write();
    const name = JSON.stringify([scope, ...(scope === 'user' ? owner.slice(0, 2) : owner)]);
    // Of an app's it is not known what others wrote.
    let room = (scope !== 'app' && this.#rooms.get(name)) || 0;
    for (const text of texts) room -= MAX_KEY_BYTES + this.#texts.sizeOf(text) * MOST_BYTES_A_UNIT;
    if (room < 0) {
      const measure = (): number => Number(this.#sql.stateSize.get(...owner, scope)?.['size']);
      const before = measure();
      write();
      const after = measure();
      if (after > most && after > before) {
        throw new SizeLimitError(
          `the state of the ${scope} takes ${after} bytes in all, and at most ${most} can be stored; save what is large as an artifact`,
        );
      }
      room = most - Math.max(before, after);
    } else write();
    if (this.#rooms.size === MAX_REMEMBERED) this.#rooms.clear();
    this.#rooms.set(name, room);
  }
}
