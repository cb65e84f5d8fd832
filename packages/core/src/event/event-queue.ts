import { ConfigurationError } from '../errors.ts';
import type { Event } from './event.ts';

/** Maximum number of events that `emit` queues. A tool that awaits each `emit` has at most one in the queue. */
const MAX_WAITING = 1000;

/** A queued event, and the function that resolves the `emit` or the `post` of its sender, if one waits. */
interface Queued {
  readonly event: Event;
  readonly settle?: (isTaken: boolean) => void;
}

/** A queue of the events of tools or nodes that run at the same time, in the order of their calls. One reader takes them with `next`. */
export class EventQueue {
  #queue: Queued[] | undefined;
  #passing: Queued | undefined;
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

  /** Ends the queue: `emit` and `post` return false from now on. Queued events are still read. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /**
   * Queues an event of a program, as `post` does.
   * @throws ConfigurationError synchronously, if 1000 events are queued already
   */
  emit(event: Event): Promise<boolean> {
    if (!this.#isEnded && (this.#queue?.length ?? 0) >= MAX_WAITING)
      throw new ConfigurationError(`emit: ${MAX_WAITING} events wait to be read; await the promise that emit returns`);
    return this.post(event);
  }

  /**
   * Queues an event. Resolves to true when the reader has processed it (and stored it, unless it is partial), and to
   * false if the reader has left or the queue has ended.
   */
  post(event: Event): Promise<boolean> {
    if (this.#isEnded) return Promise.resolve(false);
    return new Promise((settle) => this.#add({ event, settle }));
  }

  /** Queues an event of the runtime, for which nobody waits. */
  add(event: Event): void {
    this.#add({ event });
  }

  #add(queued: Queued): void {
    (this.#queue ??= []).push(queued);
    this.#wake?.();
  }

  /** Waits for the next event; undefined when the queue has ended. The call also confirms that the previous event was processed. */
  async next(): Promise<Event | undefined> {
    this.#passing?.settle?.(true);
    this.#passing = undefined;
    if ((this.#queue?.length ?? 0) === 0 && !this.#isEnded)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#passing = this.#queue?.shift();
    return this.#passing?.event;
  }

  /** Closes the queue after the reader has left: pending calls of `emit` and `post` resolve to false. */
  close(): void {
    this.#isClosed = true;
    this.#isEnded = true;
    this.#passing?.settle?.(false);
    for (const { settle } of this.#queue ?? []) settle?.(false);
    this.#queue = undefined;
  }
}
