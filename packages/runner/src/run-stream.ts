import type { Event } from '@eventloom/core';
import type { RunControl } from './run-control.ts';

/** The events of one run, as they are committed. A reader that stops reading ends the run. */
export interface RunStream extends AsyncGenerator<Event, void, undefined> {
  /**
   * Known before the first event. For answers to calls that are sent without an `invocationId` it is settled when the run has started:
   * they may continue the run that asked.
   */
  readonly invocationId: string;
  /**
   * Resolves to true when the run has its session and its message is stored, to false when the run ended before. Never rejects: an
   * error is thrown to the reader. The run starts when the first event is asked for.
   */
  whenStarted(): Promise<boolean>;
}

/** A generator of events with the run's id. Setting properties on the generator itself would cost half a microsecond. */
export class EventRunStream implements RunStream {
  readonly #control: RunControl;
  readonly #events: AsyncGenerator<Event, void, undefined>;

  constructor(control: RunControl, events: AsyncGenerator<Event, void, undefined>) {
    this.#control = control;
    this.#events = events;
  }

  get invocationId(): string {
    return this.#control.invocationId;
  }

  whenStarted(): Promise<boolean> {
    return this.#control.whenStarted();
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
