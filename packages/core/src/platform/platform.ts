import { RunAbortedError, toError } from '../errors.ts';

/**
 * Access to the clock, ids, timers and background work. The runner and the services use it in place of globals, so that a test can
 * control them and a Worker can pass its own.
 */
export interface Platform {
  /** Returns the time in milliseconds since the epoch, with fractions where the clock is finer. */
  now(): number;
  /** Returns a unique event id: UUID version 7. `nowMs` is the current time if the caller knows it already. Default: `now()`. */
  newEventId(nowMs?: number): string;
  /** Returns a unique id without order: UUID version 4. */
  newUuid(): string;
  /**
   * Calls `callback` once after `delayMs` milliseconds; with 0 after the work that is ready now. The returned function
   * cancels the timer. A pending timer keeps the process alive, unless it is `idle` (for maintenance work). Default: not idle.
   */
  schedule(delayMs: number, callback: () => void, options?: { readonly idle?: boolean }): () => void;
  /** Keeps work running after the response was sent. The platform reports a rejection. */
  background(work: Promise<unknown>): void;
}

// Node and Workers have these, other runtimes may not.
declare const setImmediate: ((callback: () => void) => unknown) | undefined;
declare function clearImmediate(immediate: unknown): void;

/** The platform of a plain web-standard runtime: its clock, its random source, its timers. */
export const systemPlatform: Platform = {
  now: () => Date.now(),
  newEventId: uuidV7,
  newUuid: uuidV4,
  schedule(delayMs, callback, { idle = false } = {}) {
    // A timer of Node waits for at least one millisecond.
    if (delayMs === 0 && !idle && typeof setImmediate !== 'undefined') {
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
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

/** Reports an error that can no longer change the outcome of the work, through `platform.background`. */
export function reportTo(platform: Platform, error: unknown): void {
  platform.background(Promise.reject(toError(error)));
}

/** Does the same as `reportTo`, but ignores errors that only report the abort of the work. */
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
let used = POOL_BYTES;

const HEX = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
/** The indexes of the digits in the text of a UUID, without that of its version. */
// oxfmt-ignore
const PLACES = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 15, 16, 17, 19, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35];
/** The number of digits of a UUID version 7 that are its time. */
const TIME_DIGITS = 12;
/**
 * The character codes of the id that is being written, one list for each version. The text is made of them at once: a sum of pieces allocates
 * ten times as much.
 */
const randomCodes = codesOf(4);
const timedCodes = codesOf(7);
/** The millisecond that `timedCodes` encodes; ids of the same millisecond reuse the digits. */
let codedMs: number | undefined;

function codesOf(version: 4 | 7): number[] {
  const codes = Array.from({ length: 36 }, () => '-'.charCodeAt(0));
  codes[14] = HEX[version] ?? 0;
  return codes;
}

/** Writes the random digits of a UUID (RFC 9562), from an index in `PLACES` on. One call to the generator serves hundreds of ids. */
function writeRandom(codes: number[], first: number): void {
  if (used + PLACES.length > POOL_BYTES) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  for (let index = first; index < PLACES.length; index++) {
    codes[PLACES[index] ?? 0] = HEX[(pool[used++] ?? 0) & 15] ?? 0;
  }
  codes[19] = HEX[8 | ((pool[used - 1] ?? 0) >>> 6)] ?? 0;
}

/** Returns a UUID version 7 for a time in milliseconds since the epoch. Default: the current time. Ids of one millisecond are in no order. */
export function uuidV7(timeMs: number = Date.now()): string {
  if (timeMs !== codedMs) {
    codedMs = timeMs;
    const upper = Math.floor(timeMs / 2 ** 24);
    const lower = timeMs % 2 ** 24;
    for (let index = 0; index < 6; index++) {
      timedCodes[PLACES[5 - index] ?? 0] = HEX[(upper >>> (4 * index)) & 15] ?? 0;
      timedCodes[PLACES[11 - index] ?? 0] = HEX[(lower >>> (4 * index)) & 15] ?? 0;
    }
  }
  writeRandom(timedCodes, TIME_DIGITS);
  return String.fromCharCode(...timedCodes);
}

/** Returns a random UUID, version 4. */
export function uuidV4(): string {
  writeRandom(randomCodes, 0);
  return String.fromCharCode(...randomCodes);
}
