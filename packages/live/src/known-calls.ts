import type { FunctionCall, InvocationContext } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';

/** A call of the history, and whether the service knows its id. */
export interface FoundCall {
  readonly call: FunctionCall;
  readonly author: string;
  readonly isKnown: boolean;
}

/**
 * The calls that the service's session made itself; it accepts responses to no others. A session that was given a history has only read the
 * calls in it. A session that resumes with a handle does not know calls after the handle, if the service reported that it could not be
 * resumed at that point.
 */
export class KnownCalls {
  readonly #context: InvocationContext;
  /** Index ranges of the history whose calls the session made; `to` is exclusive, and `Infinity` in the last range. */
  #stretches: { readonly from: number; to: number }[];
  /** Length of the history when the newest handle arrived. */
  #handleAt = 0;
  #isPastHandle = false;

  constructor(context: InvocationContext) {
    this.#context = context;
    // The handle that the run got covers everything before it.
    this.#stretches = [{ from: 0, to: Infinity }];
  }

  get #end(): number {
    return this.#context.session.events.length;
  }

  /** Records the start of a connection that got the history. */
  began(): void {
    this.#stretches = [{ from: this.#end, to: Infinity }];
    this.#isPastHandle = false;
  }

  /** Records that the session was resumed with the newest handle. */
  resumed(): void {
    const last = this.#stretches.at(-1);
    if (!this.#isPastHandle || !last) return;
    last.to = this.#handleAt;
    this.#stretches.push({ from: this.#end, to: Infinity });
    this.#isPastHandle = false;
  }

  /** Records that the service sent a handle for the conversation so far. */
  noteHandle(): void {
    this.#handleAt = this.#end;
    this.#isPastHandle = false;
  }

  /** Records that no handle covers the conversation from now on. */
  noteNotResumable(): void {
    this.#isPastHandle = true;
  }

  /**
   * The agent's newest call with this id; undefined when the history has none. An agent that the call runs may make
   * calls with the same id.
   */
  find(id: string): FoundCall | undefined {
    const { invocation, branch } = this.#context;
    const found = Calls.of(invocation).newest(id, branch);
    if (!found) return undefined;
    const { call, event, eventIndex } = found;
    const isKnown = this.#stretches.some(({ from, to }) => eventIndex >= from && eventIndex < to);
    return { call, author: event.author, isKnown };
  }
}
