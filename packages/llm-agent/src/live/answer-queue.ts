import type { LiveRequest } from '@eventloom/core';
import type { RequestSource } from './request-pump.ts';

/** What a model is still to be told of its calls. It outlives a connection, and holds what the runtime says, not what a client does. */
export class AnswerQueue implements RequestSource {
  #waiting: LiveRequest[] = [];
  #wake: (() => void) | undefined;

  push(request: LiveRequest): void {
    this.#waiting.push(request);
    this.#wake?.();
  }

  async peek(abortSignal: AbortSignal): Promise<LiveRequest> {
    for (;;) {
      abortSignal.throwIfAborted();
      const [oldest] = this.#waiting;
      if (oldest) return oldest;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const stop = (): void => resolve();
      abortSignal.addEventListener('abort', stop, { once: true });
      await promise;
      abortSignal.removeEventListener('abort', stop);
    }
  }

  shift(): void {
    this.#waiting.shift();
  }

  /** Takes out what this is true for. */
  drop(isDropped: (request: LiveRequest) => boolean): void {
    this.#waiting = this.#waiting.filter((request) => !isDropped(request));
  }
}
