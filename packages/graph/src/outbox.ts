import type { Event } from '@eventloom/core';

interface Posted {
  readonly event: Event;
  readonly settle: (isTaken: boolean) => void;
}

/** Passes the events of a step's nodes to the stream of the graph. */
export class Outbox {
  readonly #queue: Posted[] = [];
  #taken: Posted | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  #isClosed = false;

  /**
   * Hands in an event. Resolves to true when it was taken, which for one to be stored means that it is, and to false when nobody
   * takes any more.
   */
  post(event: Event): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#queue.push({ event, settle });
      this.#wake?.();
    });
  }

  /** No more events come. */
  end(): void {
    this.#isOver = true;
    this.#wake?.();
  }

  /** The next event; undefined at the end. To ask for one says that the one before was taken. */
  async next(): Promise<Event | undefined> {
    this.#taken?.settle(true);
    this.#taken = undefined;
    while (this.#queue.length === 0 && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#taken = this.#queue.shift();
    return this.#taken?.event;
  }

  /** Nobody takes any more. */
  close(): void {
    this.#isClosed = true;
    this.#taken?.settle(false);
    for (const { settle } of this.#queue.splice(0)) settle(false);
  }
}
