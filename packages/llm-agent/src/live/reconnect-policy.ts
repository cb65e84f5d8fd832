import { type AbortGuard, type InvocationContext, LiveConnectionError } from '@eventloom/core';

/** Connections in a row that may fail. */
const MAX_ATTEMPTS = 5;
const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 8000;

/** Says whether a connection is made anew, and when: at once after one that was good, then later and later. */
export class ReconnectPolicy {
  readonly #context: InvocationContext;
  #failures = 0;

  constructor(context: InvocationContext) {
    this.#context = context;
  }

  /** A connection said something. */
  succeeded(): void {
    this.#failures = 0;
  }

  /**
   * Settles when a connection is to be made anew.
   * @param waiting ends the wait
   * @throws the error, when there is no use in it @throws RunAbortedError when the wait is ended
   */
  async failed(error: unknown, waiting: AbortGuard): Promise<void> {
    const context = this.#context;
    const canRetry = LiveConnectionError.isInstance(error) && error.isRetryable;
    if (!canRetry || context.runConfig.liveReconnect === false || ++this.#failures > MAX_ATTEMPTS) throw error;
    if (this.#failures === 1) return;
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (this.#failures - 2), MAX_DELAY_MS);
    const due = Promise.withResolvers<void>();
    const callOff = context.platform.schedule(delayMs, due.resolve);
    try {
      await waiting.until(due.promise);
    } finally {
      callOff();
    }
  }
}
