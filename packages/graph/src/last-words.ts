import type { Event } from '@eventloom/core';

/** Passes on the events of an agent. What may be its last words is held back until it says something else, or is done. */
export class LastWords {
  readonly #post: (event: Event) => Promise<unknown>;
  /** What may be the last words, and bookkeeping behind it. */
  #held: Event[] = [];

  constructor(post: (event: Event) => Promise<unknown>) {
    this.#post = post;
  }

  async pass(event: Event, mayBeLast: boolean): Promise<void> {
    if (this.#held.length > 0 && !event.nodeEvent) {
      if (event.content === undefined && event.errorCode === undefined) {
        this.#held.push(event);
        return;
      }
      await this.release();
    }
    if (mayBeLast) this.#held = [event];
    else await this.#post(event);
  }

  /** Passes on what is held back. @param shown makes of the last words what is passed on in their place */
  async release(shown?: (event: Event) => Event): Promise<void> {
    const [last, ...behind] = this.#held;
    this.#held = [];
    if (last) await this.#post(shown ? shown(last) : last);
    for (const event of behind) await this.#post(event);
  }
}
