import { RunAbortedError, toError } from '../errors.ts';

/**
 * Access to the clock, ids, random numbers, timers and background work. The runner and the services use it in place of globals, so that
 * a test can control them and a Worker can pass its own.
 */
export interface Platform {
  /** Returns the time in milliseconds since the epoch, with fractions where the clock is finer. */
  now(): number;
  /** Returns a unique event id: UUID version 7. `nowMs` is the current time if the caller knows it already. Default: `now()`. */
  newEventId(nowMs?: number): string;
  /** Returns a unique id without order: UUID version 4. */
  newUuid(): string;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for pauses that differ between callers. Not for secrets. */
  random(): number;
  /**
   * Calls `callback` once after `delayMs` milliseconds; with 0 after the work that is ready now. The returned function
   * cancels the timer. A pending timer keeps the process alive, unless it is `idle`: for
   * maintenance that may be done earlier, which a Durable Object does when it has nothing else to do. Default: not idle.
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
  random: () => Math.random(),
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

/** Returns the id of a new run. Ids of one time are close to each other, so that a database writes the records of new runs to few pages. */
export function newInvocationId(platform: Platform): string {
  return `e-${platform.newEventId()}`;
}

/** Reports an error that can no longer change the outcome of the work, through `platform.background`. */
export function reportTo(platform: Platform, error: unknown): void {
  platform.background(Promise.reject(toError(error)));
}

/** Does the same as `reportTo`, but ignores errors that only report the abort of the work. */
export function reportUnlessStopped(platform: Platform, error: unknown): void {
  if (!RunAbortedError.isInstance(error) && toError(error).name !== 'AbortError') reportTo(platform, error);
}

/** Resolves when other work has run. */
export function otherWork(timers: Pick<Platform, 'schedule'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  timers.schedule(0, resolve);
  return promise;
}

/**
 * Resolves or rejects as the work does, or, if that takes longer than the time-out, as `onLate` does: by default with
 * undefined. The work continues without a waiter.
 */
export async function within<T, L = undefined>(
  timers: Pick<Platform, 'schedule'>,
  work: Promise<T>,
  timeoutMs: number,
  onLate?: () => L,
): Promise<T | L | undefined> {
  const late = Promise.withResolvers<L | undefined>();
  const expire = async (): Promise<L | undefined> => onLate?.();
  const callOff = timers.schedule(timeoutMs, () => late.resolve(expire()));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    callOff();
  }
}

/** The part of `ctx.storage` of a Durable Object with SQLite that drivers use. */
export interface DurableObjectStorage {
  readonly sql: {
    exec(query: string, ...bindings: (null | number | string | Uint8Array)[]): { toArray(): Record<string, unknown>[] };
  };
  transactionSync<T>(work: () => T): T;
}

/** Random words of 32 bits. One call to the generator serves hundreds of ids. */
const pool = new Uint32Array(8192);
let used = pool.length;

function randomWord(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

const HEX = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const DASH = '-'.charCodeAt(0);

/** Returns the code of a digit of a word; the last digit has the place 0. */
function digit(word: number, place: number): number {
  return HEX[(word >>> (4 * place)) & 15] ?? 0;
}

/**
 * Returns the text of a UUID (RFC 9562) from its four words, whose version and variant it sets. The text is made at
 * once: a sum of pieces allocates ten times as much, and a list of codes takes longer.
 */
// oxfmt-ignore
function toText(version: number, a: number, b: number, c: number, d: number): string {
  return String.fromCharCode(
    digit(a, 7), digit(a, 6), digit(a, 5), digit(a, 4), digit(a, 3), digit(a, 2), digit(a, 1), digit(a, 0), DASH,
    digit(b, 7), digit(b, 6), digit(b, 5), digit(b, 4), DASH,
    digit(version, 0), digit(b, 2), digit(b, 1), digit(b, 0), DASH,
    digit(8 | ((c >>> 28) & 3), 0), digit(c, 6), digit(c, 5), digit(c, 4), DASH,
    digit(c, 3), digit(c, 2), digit(c, 1), digit(c, 0),
    digit(d, 7), digit(d, 6), digit(d, 5), digit(d, 4), digit(d, 3), digit(d, 2), digit(d, 1), digit(d, 0),
  );
}

/**
 * Returns a UUID version 7 for a time in milliseconds since the epoch. Default: the current time. Ids of one
 * millisecond are in no order.
 */
export function uuidV7(timeMs: number = Date.now()): string {
  const upper = Math.floor(timeMs / 2 ** 16);
  return toText(7, upper, ((timeMs % 2 ** 16) << 16) | (randomWord() & 0xfff), randomWord(), randomWord());
}

/** Returns a random UUID, version 4. */
export function uuidV4(): string {
  return toText(4, randomWord(), randomWord(), randomWord(), randomWord());
}
