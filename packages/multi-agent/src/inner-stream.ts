import { type Event, isFinalResponse } from '@eventloom/core';

/**
 * Yields the stored events of an agent that is called as a tool. Leaves out the final event of its answer if the answer was streamed in
 * chunks, because the tool's response repeats the text. The last answer is known only at the end, so the final event of a streamed answer
 * is held back until the agent ends or yields another event with content.
 */
export class InnerStream {
  readonly #pass: (event: Event) => Promise<void>;
  readonly #chunked = new Set<string>();
  /** The final event of an answer, followed by events without content. */
  #held: Event[] = [];

  constructor(pass: (event: Event) => Promise<void>) {
    this.#pass = pass;
  }

  /** Yields an event, or holds it back if it may be the final event of the last answer. */
  async pass(event: Event): Promise<void> {
    // Node events are never held back.
    if (this.#held.length > 0 && !event.nodeEvent) {
      if (event.content === undefined && event.errorCode === undefined) {
        this.#held.push(event);
        return;
      }
      await this.release();
    }
    const { responseId, partial } = event;
    if (partial === true && responseId !== undefined) this.#chunked.add(responseId);
    if (responseId !== undefined && this.#chunked.has(responseId) && isAnswer(event)) this.#held = [event];
    else await this.#pass(event);
  }

  /** Ends the stream after the agent completed: drops the held answer and yields the events held after it. */
  async end(): Promise<void> {
    this.#held.shift();
    await this.release();
  }

  /** Yields all events that are held back. */
  async release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    for (const event of held) await this.#pass(event);
  }
}

/** True for the final event of an answer without an error. */
function isAnswer(event: Event): boolean {
  return event.partial !== true && event.errorCode === undefined && isFinalResponse(event);
}
