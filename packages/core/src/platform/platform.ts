import { uuidV4, uuidV7 } from './uuid.ts';
import { RunAbortedError, toError } from '../errors.ts';

/**
 * Access to the clock, ids, timers and work that outlives a request. It is passed to the runner and to services, which
 * never read these from globals; so a test can fix them, and a Worker can pass its own.
 */
export interface Platform {
  /** Milliseconds since the epoch, fractional where the clock is finer. */
  now(): number;
  /** A unique event id: UUID version 7. `nowMs` is what `now()` has just said, so that the clock need not be asked again. */
  newEventId(nowMs?: number): string;
  /** A unique id without order: UUID version 4. */
  newUuid(): string;
  /**
   * Calls back once after `delayMs`. The returned function calls it off. A pending timer keeps the process alive, because
   * somebody waits for it; one that is `idle` (upkeep that nobody waits for) does not.
   */
  schedule(delayMs: number, callback: () => void, options?: { readonly idle?: boolean }): () => void;
  /** Work that goes on after the answer was sent. Its rejection is the platform's to report. */
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
