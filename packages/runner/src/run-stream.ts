import type { Event } from '@eventloom/core';

/** The events of one run, as they are committed. To stop reading is to end the run. */
export interface RunStream extends AsyncGenerator<Event, void, undefined> {
  /** Known before the first event. */
  readonly invocationId: string;
}

/** A generator of events under its invocation id. A property set on the generator itself would cost it half a microsecond. */
export class EventRunStream implements RunStream {
  readonly invocationId: string;
  readonly #events: AsyncGenerator<Event, void, undefined>;

  constructor(invocationId: string, events: AsyncGenerator<Event, void, undefined>) {
    this.invocationId = invocationId;
    this.#events = events;
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
