import type { Event } from '@eventloom/core';

interface Posted {
  readonly event: Event;
  readonly settle: (isTaken: boolean) => void;
}

/** Passes the events of a step's nodes to the stream of the graph. */
export class EventChannel {
  readonly #queue: Posted[] = [];
  #taken: Posted | undefined;
  #wake: (() => void) | undefined;
  #isEnded = false;
  #isClosed = false;

  /**
   * Adds an event. Resolves to true when the stream has processed the event (and stored it, unless it is partial), and to false if the channel was
   * closed first.
   */
  post(event: Event): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#queue.push({ event, settle });
      this.#wake?.();
    });
  }

  /** Ends the channel: no event is added after this. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** Waits for the next event; undefined at the end. The call also confirms that the previous event was processed. */
  async next(): Promise<Event | undefined> {
    this.#taken?.settle(true);
    this.#taken = undefined;
    while (this.#queue.length === 0 && !this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#taken = this.#queue.shift();
    return this.#taken?.event;
  }

  /** Closes the channel and drops the events that were not read. */
  close(): void {
    this.#isClosed = true;
    this.#taken?.settle(false);
    for (const { settle } of this.#queue.splice(0)) settle(false);
  }
}
