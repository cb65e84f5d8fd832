import { RunAbortedError } from '@eventloom/core';

/**
 * Holds a scripted step until the test lets it go, so that a test can act while something is under way without sleeping.
 *
 * @example
 * const gate = new Gate();
 * const model = new ScriptedModel([{ text: 'late', gate }]);
 * const running = collect(runner.runAsync(…));
 * await gate.reached; // the model was asked and has not answered
 * gate.open();
 * await running;
 */
export class Gate {
  readonly #arrivals = Promise.withResolvers<void>();
  readonly #opening = Promise.withResolvers<void>();

  /** Settles when something waits at the gate, or went through it. */
  get reached(): Promise<void> {
    return this.#arrivals.promise;
  }

  /** Lets through who waits and who comes later. */
  open(): void {
    this.#opening.resolve();
  }

  /** Waits until the gate is open. @throws RunAbortedError when the signal fires first */
  async pass(signal?: AbortSignal): Promise<void> {
    this.#arrivals.resolve();
    if (!signal) return this.#opening.promise;
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(new RunAbortedError('aborted while held at a gate', { cause: signal.reason }));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([this.#opening.promise, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }
}
