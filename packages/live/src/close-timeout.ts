import { type BaseLiveRequestQueue, ConfigurationError, type InvocationContext } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { LiveEnding } from './live-ending.ts';

interface CloseTimeoutParams {
  readonly context: InvocationContext;
  readonly queue: BaseLiveRequestQueue;
  /** Time that work has to finish after the client closed its queue, in milliseconds. */
  readonly timeoutMs: number;
  /** Ended as `closed` when work is abandoned, before `until` rejects. */
  readonly ending?: LiveEnding;
  /** The time limit restarts as long as the run opens connections. Default: no restart. */
  readonly run?: { readonly connectionAttempts: number };
}

/** Waits for application code: without a limit while the client is connected, and for a limited time after it has closed its queue. */
export class CloseTimeout {
  readonly #params: CloseTimeoutParams;
  /** A signal that is aborted when the client closes its queue. */
  readonly #connected: AbortGuard;
  #hasTimedOut = false;

  constructor(params: CloseTimeoutParams) {
    this.#params = params;
    this.#connected = params.context.abortGuard.fork();
    void params.queue
      .whenClosed()
      .then(() => this.#connected.abort(new DOMException('the client hung up', 'AbortError')));
  }

  /** True once work was abandoned. */
  get hasTimedOut(): boolean {
    return this.#hasTimedOut;
  }

  /**
   * Resolves to the result of the work. Work that is abandoned continues without a waiter, and is reported to the platform.
   * @param what names the work in the error
   * @throws ConfigurationError when the work is abandoned
   * @throws RunAbortedError when the run is aborted
   */
  async until<T>(work: T | Promise<T>, what: string): Promise<T> {
    if (!(work instanceof Promise)) return work;
    try {
      return await this.#connected.until(work);
    } catch (error) {
      // The work gets a limited time after the client has closed its queue.
      if (!this.#connected.signal.aborted) throw error;
    }
    const { context, timeoutMs, run } = this.#params;
    const timeout = Promise.withResolvers<never>();
    let callOff = (): void => undefined;
    const wait = (): void => {
      const before = run?.connectionAttempts;
      callOff = context.platform.schedule(timeoutMs, () => {
        if (run?.connectionAttempts !== before) wait();
        else timeout.reject(this.#abandon(what));
      });
    };
    wait();
    try {
      return await context.untilAborted(Promise.race([work, timeout.promise]));
    } finally {
      callOff();
    }
  }

  #abandon(what: string): ConfigurationError {
    const { context, timeoutMs, ending } = this.#params;
    const error = new ConfigurationError(
      `agent "${context.agent.name}": ${what} did not settle within ${timeoutMs / 1000} seconds after the end of the call, and is no longer awaited`,
    );
    this.#hasTimedOut = true;
    ending?.end('closed');
    context.platform.background(Promise.reject(error));
    return error;
  }

  /** Stops following the run's abort. */
  end(): void {
    this.#params.context.abortGuard.drop(this.#connected);
  }
}
