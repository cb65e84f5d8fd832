import { RunAbortedError } from '@eventloom/core';
import type { AbortGuard, InTurn } from '@eventloom/core/internal';
import type { QueueMember, CommitQueue } from './commit-queue.ts';

/** A node's membership in a CommitQueue. Nodes that the node runs commit during its turns. */
export class CommitTurn {
  readonly #commitQueue: CommitQueue;
  readonly #member: QueueMember;
  readonly #guard: AbortGuard;
  readonly #parent: CommitTurn | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #hasLeft = false;
  /** Called when the node begins to wait for its turn, and when it stops waiting. */
  onWait: ((isWaiting: boolean) => void) | undefined;

  /** @param guard ends every wait when it fires */
  constructor(commitQueue: CommitQueue, guard: AbortGuard, parent?: CommitTurn) {
    this.#commitQueue = commitQueue;
    this.#guard = guard;
    this.#parent = parent;
    this.#member = commitQueue.join();
  }

  /** True if a commit would not have to wait. */
  get isNext(): boolean {
    return this.#commitQueue.isNext(this.#member) && (this.#parent?.isNext ?? true);
  }

  /**
   * Commits one event in the node's turn. Concurrent commits run one after the other.
   * @throws RunAbortedError after `leave`: an agent that a tool did not await has no turn any more
   */
  readonly commit: InTurn = (work) => {
    if (this.#hasLeft)
      return Promise.reject(new RunAbortedError('the node has ended, so no further event of it is stored'));
    const done = this.#last.then(() => this.#inTurn(work, false));
    this.#last = done.catch(() => undefined);
    return done;
  };

  /** Commits the node's last event, if there is one, and leaves the queue. */
  async leave(work?: () => Promise<unknown>): Promise<void> {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    await this.#last;
    await this.#inTurn(work, true);
  }

  async #inTurn<T>(work: (() => Promise<T>) | undefined, isLast: boolean): Promise<T> {
    this.onWait?.(true);
    try {
      await this.#guard.until(this.#commitQueue.take(this.#member));
    } catch (error) {
      this.onWait?.(false);
      throw error;
    }
    const begin = (): Promise<T> => {
      this.onWait?.(false);
      // The node may have been stopped while its parent waited for a turn.
      this.#guard.check();
      return work ? work() : Promise.resolve(undefined as T);
    };
    try {
      return await (work && this.#parent ? this.#parent.commit(begin) : begin());
    } finally {
      this.onWait?.(false);
      if (isLast) this.#commitQueue.leave();
      else this.#commitQueue.pass();
    }
  }
}
