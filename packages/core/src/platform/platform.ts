import { uuidV4, uuidV7 } from './uuid.ts';
import { RunAbortedError, toError } from '../errors.ts';

/**
 * Access to the clock, ids, timers and background work. The runner and the services use it in place of globals, so that a test can
 * control them and a Worker can pass its own.
 */
export interface Platform {
  /** Milliseconds since the epoch, fractional where the clock is finer. */
  now(): number;
  /** A unique event id: UUID version 7. `nowMs` is the current time if the caller knows it already. Default: `now()`. */
  newEventId(nowMs?: number): string;
  /** A unique id without order: UUID version 4. */
  newUuid(): string;
  /**
   * Calls `callback` once after `delayMs` milliseconds. The returned function cancels the timer. A pending timer keeps the process
   * alive, unless it is `idle` (for maintenance work). Default: not idle.
   */
  schedule(delayMs: number, callback: () => void, options?: { readonly idle?: boolean }): () => void;
  /** Keeps work running after the response was sent. The platform reports a rejection. */
  background(work: Promise<unknown>): void;
}

/** The platform of a plain web-standard runtime: its clock, its random source, its timers. */
export const systemPlatform: Platform = {
  now: () => Date.now(),
  newEventId: uuidV7,
  newUuid: uuidV4,
  schedule(delayMs, callback, { idle = false } = {}) {
    const timer: unknown = setTimeout(callback, delayMs);
    if (idle && typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
      timer.unref();
    }
    return () => clearTimeout(timer as number);
  },
  background(work) {
    work.catch((error: unknown) => {
      console.error('background work failed', error);
    });
  },
};

/** Reports an error that cannot change the outcome of the work any more, through `platform.background`. */
export function reportTo(platform: Platform, error: unknown): void {
  platform.background(Promise.reject(toError(error)));
}

/** Like `reportTo`, but ignores errors that only say that the work was aborted. */
export function reportUnlessStopped(platform: Platform, error: unknown): void {
  if (!RunAbortedError.isInstance(error) && toError(error).name !== 'AbortError') reportTo(platform, error);
}

/** The part of `ctx.storage` of a Durable Object with SQLite that drivers use. */
export interface DurableObjectStorage {
  readonly sql: {
    exec(query: string, ...bindings: (null | number | string | Uint8Array)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(work: () => T): T;
}
