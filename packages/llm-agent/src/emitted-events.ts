import { ConfigurationError, type Event } from '@eventloom/core';

/** Maximum number of queued events. A tool that awaits each `emit` has at most one in the queue. */
const MAX_WAITING = 1000;

/** An event that a tool emitted, and the function that resolves the tool's `emit`. */
interface Emitted {
  readonly event: Event;
  readonly settle: ((isTaken: boolean) => void) | undefined;
}

/** A queue of the events that tools emit while they run, in the order of emission. One reader takes them with `next`. */
export class EmittedEvents {
  #queue: Emitted[] | undefined;
  #passing: Emitted | undefined;
  #wake: (() => void) | undefined;
  #isEnded = false;
  #isClosed = false;

  /** True once the reader has left. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends the queue when the promise settles. Events that are queued by then are still read. */
  endWith(work: Promise<unknown>): void {
    const end = (): void => this.end();
    work.then(end, end);
  }

  /** Ends the queue: `emit` returns false from now on. Queued events are still read. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /**
   * Queues an event. Resolves to true when the reader has processed it, and to false if the reader has left or the queue has ended.
   * @throws ConfigurationError synchronously, if 1000 events are queued already
   */
  emit(event: Event): Promise<boolean> {
    if (this.#isClosed || this.#isEnded) return Promise.resolve(false);
    if ((this.#queue?.length ?? 0) >= MAX_WAITING) {
      throw new ConfigurationError(`emit: ${MAX_WAITING} events wait to be read; await the promise that emit returns`);
    }
    return new Promise((settle) => this.#add({ event, settle }));
  }

  /** Queues an event of the runtime, for which no tool waits. */
  add(event: Event): void {
    this.#add({ event, settle: undefined });
  }

  #add(emitted: Emitted): void {
    (this.#queue ??= []).push(emitted);
    this.#wake?.();
  }

  /** Waits for the next event; undefined when the queue has ended. The call also confirms that the previous event was processed. */
  async next(): Promise<Event | undefined> {
    this.#passing?.settle?.(true);
    this.#passing = undefined;
    const hasWaiting = this.#queue !== undefined && this.#queue.length > 0;
    if (!hasWaiting && !this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#passing = this.#queue?.shift();
    return this.#passing?.event;
  }

  /** Closes the queue after the reader has left: pending `emit` calls resolve to false. */
  close(): void {
    this.#isClosed = true;
    this.#passing?.settle?.(false);
    for (const { settle } of this.#queue ?? []) settle?.(false);
    this.#queue = undefined;
  }
}
