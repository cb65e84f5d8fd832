import {
  type AbortGuard,
  type BaseLiveRequestQueue,
  ConfigurationError,
  type InvocationContext,
} from '@eventloom/core';

/** How patience ends. */
export interface PatienceParams {
  readonly context: InvocationContext;
  readonly queue: BaseLiveRequestQueue;
  /** What work gets when the client has hung up. */
  readonly graceMs: number;
  /** Told when work is abandoned, before who waits for it is. */
  readonly onOver: () => void;
  /** How many signs of life there were. When there was one, the work gets the same time again. */
  readonly countSigns?: () => number;
}

/** Waits for what the application does: as long as it takes while there is a client, and not for ever when it has closed its queue. */
export class Patience {
  readonly #params: PatienceParams;
  /** Aborted when the client hangs up. */
  readonly #listening: AbortGuard;

  constructor(params: PatienceParams) {
    this.#params = params;
    this.#listening = params.context.forkAbort();
    void params.queue
      .whenClosed()
      .then(() => this.#listening.abort(new DOMException('the client hung up', 'AbortError')));
  }

  /**
   * What comes of the work. What it does when it is waited for no more is nobody's concern: that it was abandoned is told to the platform.
   * @param what names the work in the error
   * @throws ConfigurationError when it is abandoned @throws RunAbortedError
   */
  async until<T>(work: T | Promise<T>, what: string): Promise<T> {
    if (!(work instanceof Promise)) return work;
    try {
      return await this.#listening.until(work);
    } catch (error) {
      // The client hung up: the work goes on, for so long.
      if (!this.#listening.signal.aborted) throw error;
    }
    const { context, graceMs, countSigns } = this.#params;
    const over = Promise.withResolvers<never>();
    let callOff = (): void => undefined;
    const wait = (): void => {
      const signs = countSigns?.();
      callOff = context.platform.schedule(graceMs, () => {
        if (countSigns?.() !== signs) wait();
        else over.reject(this.#abandon(what));
      });
    };
    wait();
    try {
      return await context.untilAborted(Promise.race([work, over.promise]));
    } finally {
      callOff();
    }
  }

  #abandon(what: string): ConfigurationError {
    const { context, graceMs, onOver } = this.#params;
    const error = new ConfigurationError(
      `agent "${context.agent.name}": ${what} did not settle within ${graceMs / 1000} seconds of the end of the call, and is left to itself`,
    );
    onOver();
    context.platform.background(Promise.reject(error));
    return error;
  }

  /** Lets go of the run. */
  end(): void {
    this.#params.context.dropAbort(this.#listening);
  }
}
