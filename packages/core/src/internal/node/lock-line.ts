import { StorageError } from '../../errors.ts';
import type { MaybePromise } from '../../session/maybe-promise.ts';
import type { Platform } from '../../platform/platform.ts';
import { sqliteResult, storageFailure } from '../../platform/storage-failure.ts';

const SQLITE_BUSY = 5;
/** Time that a file may stay locked before waiting work fails, in milliseconds. */
const MAX_WAIT_MS = 5000;
const MAX_SLEEP_MS = 25;

/** Work that found the file locked. */
interface LockAttempt {
  readonly deadlineMs: number;
  /** Tries the work again. Returns undefined once it is settled, otherwise the error of the locked file. */
  tryAgain(): unknown;
  fail(cause: unknown): void;
}

/**
 * Runs work on a database file that other processes may lock. Work that finds the file locked is retried later without blocking the
 * event loop: writes one after the other in the order of their calls, while reads continue. Work must change nothing if it finds the
 * file locked.
 */
export class LockLine {
  readonly #storage: string;
  readonly #platform: Platform;
  readonly #line: Set<LockAttempt> = new Set();

  /** @param storage the name of the storage in error messages, e.g. `the session database` */
  constructor(storage: string, platform: Platform) {
    this.#storage = storage;
    this.#platform = platform;
  }

  /** @throws StorageError when the file stays locked for five seconds, and at once when it cannot be read or written for another reason */
  read<T>(work: () => T): MaybePromise<T> {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw storageFailure(this.#storage, error);
      return this.#wait(work);
    }
  }

  /** Runs the work like `read`, but after waiting writes. */
  write<T>(work: () => T): MaybePromise<T> {
    return this.#line.size === 0 ? this.read(work) : this.#wait(work);
  }

  #wait<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#line.add({
        deadlineMs: this.#platform.now() + MAX_WAIT_MS,
        tryAgain: () => {
          try {
            resolve(work());
          } catch (error) {
            if (isBusy(error)) return error;
            reject(storageFailure(this.#storage, error));
          }
          return undefined;
        },
        fail: (cause) => reject(StorageError.of(this.#storage, cause)),
      });
      if (this.#line.size === 1) this.#sleep(1);
    });
  }

  #sleep(delayMs: number): void {
    this.#platform.schedule(delayMs, () => this.#tryAll(delayMs));
  }

  #tryAll(delayMs: number): void {
    const length = this.#line.size;
    let busy: unknown;
    for (const attempt of this.#line) {
      busy ??= attempt.tryAgain();
      if (busy !== undefined) {
        // Later waiters have no earlier deadline.
        if (attempt.deadlineMs > this.#platform.now()) break;
        attempt.fail(busy);
      }
      this.#line.delete(attempt);
    }
    if (this.#line.size > 0) this.#sleep(this.#line.size < length ? 1 : Math.min(delayMs * 2, MAX_SLEEP_MS));
  }
}

function isBusy(error: unknown): boolean {
  return sqliteResult(error) === SQLITE_BUSY;
}
