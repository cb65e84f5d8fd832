import { type Event, isFinalResponse } from '@eventloom/core';
import { AnswerBuffer } from '@eventloom/core/internal';

/**
 * Yields the stored events of an agent that is called as a tool. Leaves out the final event of its answer if the answer was streamed in
 * chunks, because the tool's response repeats the text. The last answer is known only at the end, so the final event of a streamed answer
 * is held back until the agent ends or yields another event with content.
 */
export class InnerStream {
  readonly #buffer: AnswerBuffer;
  readonly #chunked = new Set<string>();

  constructor(pass: (event: Event) => Promise<void>) {
    this.#buffer = new AnswerBuffer(pass);
  }

  /** Yields an event, or holds it back if it may be the final event of the last answer. */
  pass(event: Event): Promise<void> {
    const { responseId, partial } = event;
    if (partial === true && responseId !== undefined) this.#chunked.add(responseId);
    return this.#buffer.pass(event, responseId !== undefined && this.#chunked.has(responseId) && isAnswer(event));
  }

  /** Ends the stream after the agent completed: drops the held answer and yields the events held after it. */
  end(): Promise<void> {
    return this.#buffer.dropAnswer();
  }

  /** Yields all events that are held back. */
  release(): Promise<void> {
    return this.#buffer.release();
  }
}

/** True for the final event of an answer without an error. */
function isAnswer(event: Event): boolean {
  return event.partial !== true && event.errorCode === undefined && isFinalResponse(event);
}
