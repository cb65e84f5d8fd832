import type { AbortGuard, InTurn } from '@eventloom/core/internal';
import type { Lane, Turns } from './turns.ts';

/** A node's place among those that commit in turn. Nodes that it runs commit within its turns. */
export class Seat {
  readonly #turns: Turns;
  readonly #lane: Lane;
  readonly #guard: AbortGuard;
  readonly #parent: Seat | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #hasLeft = false;
  /** Told when the node begins and ends to wait for its turn. */
  onWait: ((isWaiting: boolean) => void) | undefined;

  /** @param guard ends every wait when it fires */
  constructor(turns: Turns, guard: AbortGuard, parent?: Seat) {
    this.#turns = turns;
    this.#guard = guard;
    this.#parent = parent;
    this.#lane = turns.join();
  }

  /** True when a commit would not have to wait. */
  get isNext(): boolean {
    return this.#turns.isNext(this.#lane) && (this.#parent?.isNext ?? true);
  }

  /** Commits one event, in turn. One after the other, should several be asked for at once. */
  readonly commit: InTurn = (work) => {
    const done = this.#last.then(() => this.#inTurn(work, false));
    this.#last = done.catch(() => undefined);
    return done;
  };

  /** Commits the last event, if there is one, and leaves the others to themselves. */
  async leave(work?: () => Promise<unknown>): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    await this.#last;
    await this.#inTurn(work, true);
  }

  async #inTurn<T>(work: (() => Promise<T>) | undefined, isLast: boolean): Promise<T> {
    this.onWait?.(true);
    try {
      await this.#guard.until(this.#turns.take(this.#lane));
    } catch (error) {
      this.onWait?.(false);
      throw error;
    }
    const begin = (): Promise<T> => {
      this.onWait?.(false);
      // It may have been stopped while the node that runs it waited for its own turn.
      this.#guard.check();
      return work ? work() : Promise.resolve(undefined as T);
    };
    try {
      return await (work && this.#parent ? this.#parent.commit(begin) : begin());
    } finally {
      this.onWait?.(false);
      if (isLast) this.#turns.leave();
      else this.#turns.pass();
    }
  }
}
