import { ConfigurationError, type Event } from '@eventloom/core';

/** Events that may wait to be passed on. A tool that waits for each of its own has one at most. */
const MAX_WAITING = 1000;

/** An event that a tool emitted, and what tells the tool whether it was passed on. */
interface Emitted {
  readonly event: Event;
  readonly settle: ((isTaken: boolean) => void) | undefined;
}

/** The events that tools emit while they run, in the order in which they come. */
export class EmittedEvents {
  #queue: Emitted[] | undefined;
  #passing: Emitted | undefined;
  #wake: (() => void) | undefined;
  #isEnded = false;
  #isClosed = false;

  /** True once nobody listens any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Ends the events with the work of the tools. Those that wait are still passed on. */
  endWith(work: Promise<unknown>): void {
    const end = (): void => this.end();
    work.then(end, end);
  }

  /** The work of the tools is done: nothing more is emitted. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /**
   * Hands in an event. Resolves to true when it was passed on, to false when nobody listens any more.
   * @throws ConfigurationError at the call, when too many wait
   */
  emit(event: Event): Promise<boolean> {
    if (this.#isClosed || this.#isEnded) return Promise.resolve(false);
    if ((this.#queue?.length ?? 0) >= MAX_WAITING) {
      throw new ConfigurationError(`emit: ${MAX_WAITING} events wait to be read; await the promise that emit returns`);
    }
    return new Promise((settle) => this.#add({ event, settle }));
  }

  /** Adds an event of the runtime's own, for which no tool waits. */
  add(event: Event): void {
    this.#add({ event, settle: undefined });
  }

  #add(emitted: Emitted): void {
    (this.#queue ??= []).push(emitted);
    this.#wake?.();
  }

  /** The next event; undefined when the work is done. To ask for one says that the one before was passed on. */
  async next(): Promise<Event | undefined> {
    this.#passing?.settle?.(true);
    this.#passing = undefined;
    const hasWaiting = this.#queue !== undefined && this.#queue.length > 0;
    if (!hasWaiting && !this.#isEnded) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#passing = this.#queue?.shift();
    return this.#passing?.event;
  }

  /** Closes the channel when its reader has left: waiting emitters are told that their events were not read. */
  close(): void {
    this.#isClosed = true;
    this.#passing?.settle?.(false);
    for (const { settle } of this.#queue ?? []) settle?.(false);
    this.#queue = undefined;
  }
}
