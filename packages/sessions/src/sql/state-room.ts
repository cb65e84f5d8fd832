import { SizeLimitError } from '@eventloom/core';
import type { StateEntry } from '../session-driver.ts';
import type { RowTexts } from './sql-connection.ts';
import type { Statements } from './statements.ts';

type StateScope = StateEntry['scope'];

/** How many states are remembered. */
const MAX_REMEMBERED = 1000;
/** What a key counts at most beside its value: its name, and what is counted for every key. */
const MAX_KEY_BYTES = 400;
/** UTF-8 needs at most so many bytes for a unit of a string's length. */
const MOST_BYTES_A_UNIT = 3;

/** Whose state it is. */
export type StateOwner = readonly [appName: string, userId: string, pk: number];

/**
 * Keeps the state of an app, a user and a session within what memory takes: a session reads all three at once. A state is measured when it
 * might have become too large since it was measured last, and not at every write.
 */
export class StateRoom {
  readonly #sql: Statements;
  readonly #texts: RowTexts;
  /** At least how much may be written to a state before it has to be measured again. What is rolled back counts as well. */
  readonly #rooms = new Map<string, number>();

  constructor(sql: Statements, texts: RowTexts) {
    this.#sql = sql;
    this.#texts = texts;
  }

  /**
   * Does writes to one scope, inside a transaction. What is too large already may be made smaller.
   * @param texts what is set, as it lies in rows, undefined for a key that is removed
   * @throws SizeLimitError when the state is too large then
   */
  keep(scope: StateScope, owner: StateOwner, texts: readonly (string | undefined)[], write: () => void): void {
    const most = this.#texts.maxState?.[scope];
    if (most === undefined || texts.every((text) => text === undefined)) return write();
    const [appName, userId, pk] = owner;
    // Of an app's it is not known what others wrote.
    const name = scope === 'session' ? String(pk) : scope === 'user' ? JSON.stringify([appName, userId]) : undefined;
    let room = (name !== undefined && this.#rooms.get(name)) || 0;
    for (const text of texts) {
      if (text !== undefined) room -= MAX_KEY_BYTES + this.#texts.sizeOf(text) * MOST_BYTES_A_UNIT;
    }
    if (room < 0) {
      const before = this.#measure(scope, owner);
      write();
      const after = this.#measure(scope, owner);
      if (after > most && after > before) throw tooLarge(scope, owner, after, most);
      room = most - Math.max(before, after);
    } else write();
    if (name === undefined) return;
    if (this.#rooms.size === MAX_REMEMBERED) this.#rooms.clear();
    this.#rooms.set(name, room);
  }

  #measure(scope: StateScope, owner: StateOwner): number {
    return Number(this.#sql.stateSize.get(...owner, scope)?.['size']);
  }
}

function tooLarge(scope: StateScope, [appName, userId]: StateOwner, size: number, most: number): SizeLimitError {
  const whose = {
    app: `app ${JSON.stringify(appName)}`,
    user: `user ${JSON.stringify(userId)}`,
    session: 'the session',
  };
  return new SizeLimitError(
    `the state of ${whose[scope]} would take ${size} bytes in all, and at most ${most} can be stored; save what is large as an artifact`,
  );
}
