import { RunAbortedError } from '@eventloom/core';

/**
 * Holds a scripted step until the test opens the gate, so that a test can act while a call is running, without sleeping.
 *
 * @example
 * const gate = new Gate();
 * const model = new ScriptedModel([{ text: 'late', gate }]);
 * const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'bot', model }), autoCreateSession: true });
 * const running = runner.run({ userId: 'ada', sessionId: 's1', newMessage: { role: 'user', parts: [{ text: 'Hi' }] } });
 * await gate.reached; // the model was called and has not replied
 * gate.open();
 * await running;
 */
export class Gate {
  readonly #arrivals = Promise.withResolvers<void>();
  readonly #opening = Promise.withResolvers<void>();

  /** Resolves when the first caller waits at the gate or has passed it. */
  get reached(): Promise<void> {
    return this.#arrivals.promise;
  }

  /** Opens the gate for all waiting and later callers. */
  open(): void {
    this.#opening.resolve();
  }

  /** Waits until the gate is open. @throws RunAbortedError if the signal is aborted first */
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
