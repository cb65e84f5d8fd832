import type { Platform, SessionKey } from '@eventloom/core';
import type { ClaimOutcome, MaybePromise } from './session-driver.ts';
import { abortedError, busyError, fullLineError } from './session-errors.ts';

/** The longest single sleep; timers of the platform overflow somewhat above 24 days. */
const MAX_SLEEP_MS = 600_000;
/** How many may wait for one session in this process. */
const MAX_WAITERS = 1000;
const FIRST_POLL_MS = 5;
const MAX_POLL_MS = 100;

/** One who waits for a session. */
export interface LeaseWait extends SessionKey {
  /** How long to wait before giving up with SessionBusyError. */
  readonly waitMs: number;
  readonly abortSignal?: AbortSignal | undefined;
  /** Asks the storage for the lease. */
  claim(): MaybePromise<ClaimOutcome>;
}

interface Waiter {
  /** Set while asleep. */
  wake: (() => void) | undefined;
  /** Woken while not asleep: the next sleep ends at once. */
  woken: boolean;
}

/**
 * Lines of waiters, one per session, first come first served inside this process. Only the head of a line asks the storage; it
 * is woken by a release or a deletion in this process, by the expiry of the lease it waits for, and, where other processes share
 * the storage, by a poll that grows slower.
 */
export class LeaseQueue {
  readonly #platform: Platform;
  readonly #polls: boolean;
  readonly #lines = new Map<string, Waiter[]>();

  constructor(platform: Platform, polls: boolean) {
    this.#platform = platform;
    this.#polls = polls;
  }

  /** True when somebody waits for the session. */
  isAwaited(key: SessionKey): boolean {
    return this.#lines.size > 0 && this.#lines.has(nameOf(key));
  }

  /** Tells the first in line that the session may be free. */
  wake(key: SessionKey): void {
    if (this.#lines.size === 0) return;
    const head = this.#lines.get(nameOf(key))?.[0];
    if (head) wakeUp(head);
  }

  /**
   * Joins the line and returns what the storage said when it was this one's turn: the lease, or that the session is missing.
   * `pending` is a first claim that is under way already.
   * @throws SessionBusyError when `waitMs` are over, and at once when 1,000 wait already
   * @throws RunAbortedError when the signal fires
   */
  async wait(request: LeaseWait, pending?: Promise<ClaimOutcome>): Promise<Exclude<ClaimOutcome, { status: 'busy' }>> {
    const deadline = this.#platform.now() + request.waitMs;
    const name = nameOf(request);
    const waiter: Waiter = { wake: undefined, woken: false };
    const line = this.#lines.get(name) ?? [];
    if (line.length >= MAX_WAITERS) throw fullLineError(request, line.length);
    if (line.push(waiter) === 1) this.#lines.set(name, line);
    try {
      let first = pending;
      let pollMs = FIRST_POLL_MS;
      for (;;) {
        if (!first && request.abortSignal?.aborted) throw abortedError(request, request.abortSignal);
        let freeAtMs = Infinity;
        if (first || line[0] === waiter) {
          const outcome = await (first ?? request.claim());
          first = undefined;
          if (outcome.status !== 'busy') return outcome;
          freeAtMs = outcome.freeAtMs;
        }
        const now = this.#platform.now();
        if (now >= deadline) throw busyError(request, request.waitMs);
        let until = Math.min(deadline, freeAtMs);
        if (this.#polls && line[0] === waiter) {
          until = Math.min(until, now + pollMs);
          pollMs = Math.min(pollMs * 2, MAX_POLL_MS);
        }
        if (request.abortSignal?.aborted) continue;
        await this.#sleep(waiter, Math.min(Math.max(until - now, 1), MAX_SLEEP_MS), request.abortSignal);
      }
    } finally {
      const place = line.indexOf(waiter);
      line.splice(place, 1);
      if (line.length === 0) this.#lines.delete(name);
      else if (place === 0 && line[0]) wakeUp(line[0]);
    }
  }

  #sleep(waiter: Waiter, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (waiter.woken) {
      waiter.woken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        waiter.wake = undefined;
        cancel();
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#platform.schedule(delayMs, wake);
      signal?.addEventListener('abort', wake, { once: true });
      waiter.wake = wake;
    });
  }
}

function wakeUp(waiter: Waiter): void {
  if (waiter.wake) waiter.wake();
  else waiter.woken = true;
}

function nameOf({ appName, userId, sessionId }: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}
