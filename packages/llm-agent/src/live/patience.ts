import {
  type AbortGuard,
  type BaseLiveRequestQueue,
  ConfigurationError,
  type InvocationContext,
} from '@eventloom/core';

/** What callbacks and stores get when the client has hung up. */
const GRACE_MS = 4000;

/** Waits for what the application does: as long as it takes while there is a client, and not for ever when it has closed its queue. */
export class Patience {
  readonly #context: InvocationContext;
  readonly #onOver: () => void;
  /** Aborted when the client hangs up. */
  readonly #listening: AbortGuard;

  /** @param onOver told when work is abandoned, before who waits for it is */
  constructor(context: InvocationContext, queue: BaseLiveRequestQueue, onOver: () => void) {
    this.#context = context;
    this.#onOver = onOver;
    this.#listening = context.forkAbort();
    void queue.whenClosed().then(() => this.#listening.abort(new DOMException('the client hung up', 'AbortError')));
  }

  /**
   * What comes of the work. What it does when it is waited for no more is nobody's concern.
   * @throws ConfigurationError when it is abandoned @throws RunAbortedError
   */
  async until<T>(work: T | Promise<T>): Promise<T> {
    if (!(work instanceof Promise)) return work;
    try {
      return await this.#listening.until(work);
    } catch (error) {
      if (!this.#listening.signal.aborted) throw error;
    }
    const due = Promise.withResolvers<never>();
    const callOff = this.#context.platform.schedule(GRACE_MS, () => {
      this.#onOver();
      due.reject(new ConfigurationError(`it did not settle within ${GRACE_MS / 1000} seconds of the end of the call`));
    });
    try {
      return await this.#context.untilAborted(Promise.race([work, due.promise]));
    } finally {
      callOff();
    }
  }

  /** Lets go of the run. */
  end(): void {
    this.#context.dropAbort(this.#listening);
  }
}
