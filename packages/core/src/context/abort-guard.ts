import { RunAbortedError } from '../errors.ts';
import type { ObservedOperation } from '../instrumentation/instrumentation.ts';

/** Maximum time that aborted agents are waited for, in milliseconds. They may still be in a call that ignores its signal. */
export const AGENT_CLOSE_MS: number = 5000;

/**
 * The abort of one run or of a part of it: a signal to pass on, and waits that end at once when it fires. A wait adds no listener to the
 * signal and leaves nothing behind when it ends, however long the run takes.
 */
export class AbortGuard {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  #waiting: Set<(error: RunAbortedError) => void> | undefined;
  #forks: Set<AbortGuard> | undefined;
  /** The watched operations, in the order in which they started. */
  #watched: ObservedOperation[] | undefined;

  /** Fires the signal, ends every wait and watched operation, and aborts the forks. A second abort changes nothing. */
  abort(reason: unknown): void {
    if (this.signal.aborted) return;
    this.#controller.abort(reason);
    const watched = this.#watched ?? [];
    this.#watched = undefined;
    for (const operation of watched) operation.leave();
    const error = this.error();
    for (const reject of this.#waiting ?? []) reject(error);
    this.#waiting = undefined;
    for (const fork of this.#forks ?? []) fork.abort(reason);
    this.#forks = undefined;
  }

  /** Creates a guard for a part of the run. It fires with this guard, and can fire alone. `drop` it when the part is complete. */
  fork(): AbortGuard {
    const fork = new AbortGuard();
    if (this.signal.aborted) fork.abort(this.signal.reason);
    else (this.#forks ??= new Set()).add(fork);
    return fork;
  }

  /** Releases a fork: it no longer fires with this guard. */
  drop(fork: AbortGuard): void {
    this.#forks?.delete(fork);
  }

  /** Leaves an operation when the guard fires. A listener of the signal would cost a turn several times as much. */
  watch(operation: ObservedOperation): void {
    (this.#watched ??= []).push(operation);
  }

  /** Releases an operation that has ended. */
  unwatch(operation: ObservedOperation): void {
    const watched = this.#watched;
    // Most operations end in the reverse order: those that an operation starts end before it.
    if (watched?.at(-1) === operation) watched.pop();
    else watched?.splice(watched.indexOf(operation), 1);
  }

  /**
   * Settles as `work` does, or rejects with RunAbortedError as soon as the run is aborted. Does not stop the work;
   * ignores its later result.
   */
  until<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.signal.aborted) reject(this.error());
      else (this.#waiting ??= new Set()).add(reject);
      work.then(
        (value) => {
          this.#waiting?.delete(reject);
          resolve(value);
        },
        (error: unknown) => {
          this.#waiting?.delete(reject);
          reject(error);
        },
      );
    });
  }

  /** Throws if the guard was aborted. @throws RunAbortedError when the run was aborted */
  check(): void {
    if (this.signal.aborted) throw this.error();
  }

  /** Creates the error of a guard that was aborted. */
  error(): RunAbortedError {
    return new RunAbortedError('the run was aborted', { cause: this.signal.reason });
  }
}
