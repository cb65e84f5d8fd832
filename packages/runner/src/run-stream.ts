import type { Event } from '@eventloom/core';

/** The events of one run, as they are committed. To stop reading is to end the run. */
export interface RunStream extends AsyncGenerator<Event, void, undefined> {
  /**
   * Known before the first event. For answers to calls that are given without an `invocationId` it is settled with the first event:
   * they may go on with the run that asked.
   */
  readonly invocationId: string;
}

/** A generator of events under its invocation id. A property set on the generator itself would cost it half a microsecond. */
export class EventRunStream implements RunStream {
  #invocationId: string;
  readonly #events: AsyncGenerator<Event, void, undefined>;

  /** @param run makes the events; it may call back with another id before the first of them */
  constructor(invocationId: string, run: (onId: (id: string) => void) => AsyncGenerator<Event, void, undefined>) {
    this.#invocationId = invocationId;
    this.#events = run((id) => (this.#invocationId = id));
  }

  get invocationId(): string {
    return this.#invocationId;
  }

  next(): Promise<IteratorResult<Event, void>> {
    return this.#events.next();
  }

  return(): Promise<IteratorResult<Event, void>> {
    return this.#events.return(undefined);
  }

  throw(error: unknown): Promise<IteratorResult<Event, void>> {
    return this.#events.throw(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
