import { ConfigurationError, type Event } from '@eventloom/core';

/** Events that may wait to be passed on. A tool that waits for each of its own has one at most. */
const MAX_WAITING = 1000;

/** An event that a tool emitted, and what tells the tool whether it was passed on. */
interface Emitted {
  readonly event: Event;
  readonly settle: (isTaken: boolean) => void;
}

/** The events that tools emit while they run, in the order in which they come. */
export class EmittedEvents {
  #queue: Emitted[] = [];
  #passing: Emitted | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  #isClosed = false;

  /** True once nobody listens any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @param work what the tools run in; there are no more events when it is settled and the queue is empty */
  endWith(work: Promise<unknown>): void {
    const end = (): void => {
      this.#isOver = true;
      this.#wake?.();
    };
    work.then(end, end);
  }

  /**
   * Hands in an event. Resolves to true when it was passed on, to false when nobody listens any more.
   * @throws ConfigurationError at the call, when too many wait
   */
  readonly emit = (event: Event): Promise<boolean> => {
    if (this.#isClosed) return Promise.resolve(false);
    if (this.#queue.length >= MAX_WAITING) {
      throw new ConfigurationError(`emit: ${MAX_WAITING} events wait to be taken; await what emit returns`);
    }
    return new Promise((settle) => {
      this.#queue.push({ event, settle });
      this.#wake?.();
    });
  };

  /** The next event; undefined when the work is settled. To ask for one says that the one before was passed on. */
  async next(): Promise<Event | undefined> {
    this.#passing?.settle(true);
    this.#passing = undefined;
    await this.#hasNext();
    this.#passing = this.#queue.shift();
    return this.#passing?.event;
  }

  /** Calls back once an event waits: at once if one does. Until `next` is called. */
  whenAny(tell: () => void): void {
    if (this.#queue.length > 0) tell();
    else this.#wake = tell;
  }

  /** Whether there is a next event, as soon as that is known. */
  #hasNext(): Promise<boolean> {
    return new Promise((resolve) => {
      const tell = (): void => resolve(this.#queue.length > 0);
      if (this.#queue.length > 0 || this.#isOver) tell();
      else this.#wake = tell;
    });
  }

  /** Nobody listens any more: whoever waits for an event to be passed on is told so. */
  close(): void {
    this.#isClosed = true;
    this.#passing?.settle(false);
    for (const { settle } of this.#queue) settle(false);
    this.#queue = [];
  }
}
