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

const POOL_BYTES = 8192;
const pool = new Uint8Array(POOL_BYTES);
const random = new DataView(pool.buffer);
let used = POOL_BYTES;

/** The next `count` random bytes start at the returned offset of the pool: one call to the generator serves hundreds of ids. */
function takeRandom(count: number): number {
  if (used + count > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const offset = used;
  used += count;
  return offset;
}

const DIGITS = '0123456789abcdef';
const DASH = 45;

/** The character code of a random hex digit; the variant of RFC 9562 (8, 9, a or b) if `isVariant`. */
function digit(at: number, isVariant = false): number {
  const byte = random.getUint8(at);
  return DIGITS.charCodeAt(isVariant ? 8 | (byte & 3) : byte & 15);
}

let lastTime = -1;
/** The 12 hex digits of a millisecond, kept because ids come many to the millisecond. */
let timeDigits = '';

// Both write an id with one call and not as a sum of its pieces: that allocates a tenth, and events are full of ids.

/** A UUID version 7 (RFC 9562) for a time in milliseconds since the epoch, now if none is given. Ids of one millisecond are in no order. */
export function uuidV7(timeMs: number = Date.now()): string {
  if (timeMs !== lastTime) {
    timeDigits = Math.floor(timeMs).toString(16).padStart(12, '0');
    lastTime = timeMs;
  }
  const time = timeDigits;
  const at = takeRandom(19);
  // oxfmt-ignore
  return String.fromCharCode(
    time.charCodeAt(0), time.charCodeAt(1), time.charCodeAt(2), time.charCodeAt(3),
    time.charCodeAt(4), time.charCodeAt(5), time.charCodeAt(6), time.charCodeAt(7), DASH,
    time.charCodeAt(8), time.charCodeAt(9), time.charCodeAt(10), time.charCodeAt(11), DASH,
    DIGITS.charCodeAt(7), digit(at), digit(at + 1), digit(at + 2), DASH,
    digit(at + 3, true), digit(at + 4), digit(at + 5), digit(at + 6), DASH,
    digit(at + 7), digit(at + 8), digit(at + 9), digit(at + 10), digit(at + 11), digit(at + 12),
    digit(at + 13), digit(at + 14), digit(at + 15), digit(at + 16), digit(at + 17), digit(at + 18),
  );
}

/** A random UUID, version 4. */
export function uuidV4(): string {
  const at = takeRandom(31);
  // oxfmt-ignore
  return String.fromCharCode(
    digit(at), digit(at + 1), digit(at + 2), digit(at + 3), digit(at + 4), digit(at + 5), digit(at + 6), digit(at + 7), DASH,
    digit(at + 8), digit(at + 9), digit(at + 10), digit(at + 11), DASH,
    DIGITS.charCodeAt(4), digit(at + 12), digit(at + 13), digit(at + 14), DASH,
    digit(at + 15, true), digit(at + 16), digit(at + 17), digit(at + 18), DASH,
    digit(at + 19), digit(at + 20), digit(at + 21), digit(at + 22), digit(at + 23), digit(at + 24),
    digit(at + 25), digit(at + 26), digit(at + 27), digit(at + 28), digit(at + 29), digit(at + 30),
  );
}
