import { type Event, isFinalResponse } from '@eventloom/core';

/**
 * Passes on the events of an agent that is called as a tool. The text of its answer is passed on once: when it came chunk by chunk,
 * the whole event of it comes without the text, which is in the tool's response. Which answer is the last one is known at the end,
 * so an answer that came in chunks is held back until then, or until the agent says something else.
 */
export class InnerStream {
  readonly #pass: (event: Event) => Promise<void>;
  readonly #withoutText: (event: Event) => Event;
  readonly #chunked = new Set<string>();
  /** An answer, and events without content behind it. */
  #held: Event[] = [];

  /** @param derive is told of each event that is made of another in order to be passed on */
  constructor(pass: (event: Event) => Promise<void>, derive: (event: Event) => void) {
    this.#pass = pass;
    this.#withoutText = (event) => {
      const shown = withoutText(event);
      derive(shown);
      return shown;
    };
  }

  async pass(event: Event): Promise<void> {
    // What a node tells is told at once.
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

  /** The agent is done: what is held back is its answer. */
  async end(): Promise<void> {
    const [answer] = this.#held;
    if (answer) this.#held[0] = this.#withoutText(answer);
    await this.release();
  }

  /** Passes on what is held back, as it is: it is not the answer. */
  async release(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    for (const event of held) await this.#pass(event);
  }
}

/** True for the last words of an agent; what went wrong is never held back. */
function isAnswer(event: Event): boolean {
  return event.partial !== true && event.errorCode === undefined && isFinalResponse(event);
}

function withoutText(event: Event): Event {
  const { content, ...others } = event;
  const parts = content?.parts?.filter(({ text }) => text === undefined) ?? [];
  return parts.length > 0 ? { ...others, content: { ...content, parts } } : others;
}
