import { type Event, isFinalResponse } from '@eventloom/core';

/**
 * Passes on the events of an agent that is called as a tool, each as it is stored. The text of its answer is passed on once: when it came
 * chunk by chunk, the whole event of it is left out, and the text is in the tool's response as well. Which answer is the last one is known at
 * the end, so an answer that came in chunks is held back until then, or until the agent says something else.
 */
export class InnerStream {
  readonly #pass: (event: Event) => Promise<void>;
  readonly #chunked = new Set<string>();
  /** An answer, and events without content behind it. */
  #held: Event[] = [];

  constructor(pass: (event: Event) => Promise<void>) {
    this.#pass = pass;
  }

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

  /** Ends the stream: the agent has completed, and the event that is held back is its answer. */
  async end(): Promise<void> {
    this.#held.shift();
    await this.release();
  }

  /** Passes on the events that are held back. */
  async release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    for (const event of held) await this.#pass(event);
  }
}

/** True for the last event of an answer. An event with an error is never held back. */
function isAnswer(event: Event): boolean {
  return event.partial !== true && event.errorCode === undefined && isFinalResponse(event);
}
