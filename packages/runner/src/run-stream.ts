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
  #isBegun = false;

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
    this.#isBegun = true;
    return this.#events.next();
  }

  return(): Promise<IteratorResult<Event, void>> {
    this.#endUnbegun();
    return this.#events.return(undefined);
  }

  throw(error: unknown): Promise<IteratorResult<Event, void>> {
    this.#endUnbegun();
    return this.#events.throw(error);
  }

  /** A generator that is closed before its first step runs none of its code. */
  #endUnbegun(): void {
    if (!this.#isBegun) this.#control.end(false);
    this.#isBegun = true;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
