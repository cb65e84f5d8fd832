import type { Event } from './event.ts';

/** Passes on the events of an agent. An event that may be its reply is held back until another follows or the agent is done. */
export class ReplyBuffer {
  readonly #pass: (event: Event) => Promise<unknown>;
  /** The event that may be the reply, and the events without content that follow it. */
  #held: Event[] = [];

  constructor(pass: (event: Event) => Promise<unknown>) {
    this.#pass = pass;
  }

  /**
   * Passes on an event, or holds it back: if it may be the reply, or has no content and follows such an event. Events
   * of nodes are not held back.
   */
  async pass(event: Event, mayBeLast: boolean): Promise<void> {
    if (this.#held.length > 0 && !event.nodeEvent) {
      if (event.content === undefined && event.errorCode === undefined) {
        this.#held.push(event);
        return;
      }
      await this.release();
    }
    if (mayBeLast) this.#held = [event];
    else await this.#pass(event);
  }

  /** Passes on the events held back. @param shown converts the reply before it is passed on */
  async release(shown?: (event: Event) => Event): Promise<void> {
    const [last, ...behind] = this.#held;
    this.#held = [];
    if (last) await this.#pass(shown ? shown(last) : last);
    for (const event of behind) await this.#pass(event);
  }

  /** Drops the reply that is held back, and passes on the events behind it. */
  async dropReply(): Promise<void> {
    this.#held.shift();
    await this.release();
  }
}
