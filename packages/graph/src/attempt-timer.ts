import type { Platform } from '@eventloom/core';

/** A timer that can stand still: time spent waiting for others is not the node's. */
export class AttemptTimer {
  readonly #platform: Platform;
  readonly #onElapsed: () => void;
  #leftMs: number;
  #sinceMs = 0;
  #callOff: (() => void) | undefined;

  constructor(platform: Platform, timeoutMs: number, onElapsed: () => void) {
    this.#platform = platform;
    this.#leftMs = timeoutMs;
    this.#onElapsed = onElapsed;
    this.resume();
  }

  resume(): void {
    if (this.#callOff) return;
    this.#sinceMs = this.#platform.now();
    this.#callOff = this.#platform.schedule(Math.max(0, this.#leftMs), this.#onElapsed);
  }

  pause(): void {
    if (!this.#callOff) return;
    this.#callOff();
    this.#callOff = undefined;
    this.#leftMs -= this.#platform.now() - this.#sinceMs;
  }
}
