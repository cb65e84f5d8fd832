import { type Event, isFinalResponse } from '@eventloom/core';

/**
 * Passes on the events of an agent that is called as a tool. An answer that was passed on chunk by chunk is not passed on again as
 * a whole: a reader of the outer stream would print it twice, and finds it in the tool's response.
 */
export class InnerStream {
  readonly #pass: (event: Event) => Promise<void>;
  readonly #chunked = new Set<string>();

  constructor(pass: (event: Event) => Promise<void>) {
    this.#pass = pass;
  }

  async pass(event: Event): Promise<void> {
    const { responseId } = event;
    if (responseId !== undefined) {
      if (event.partial === true) this.#chunked.add(responseId);
      else if (this.#chunked.has(responseId) && isFinalResponse(event)) return;
    }
    await this.#pass(event);
  }
}
