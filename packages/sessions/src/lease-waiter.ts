import type { Platform } from '@eventloom/core';

/** One who waits in a line, and sleeps until it is woken or a time has come. */
export class LeaseWaiter {
  readonly #platform: Platform;
  /** Set while asleep. */
  #wake: (() => void) | undefined;
  /** Woken while not asleep: the next sleep ends at once. */
  #isWoken = false;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  wakeUp(): void {
    if (this.#wake) this.#wake();
    else this.#isWoken = true;
  }

  /** Ends after the delay, when it is woken, or when the signal fires. */
  sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isWoken) {
      this.#isWoken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = undefined;
        cancel();
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#platform.schedule(delayMs, wake);
      signal?.addEventListener('abort', wake, { once: true });
      this.#wake = wake;
    });
  }
}
