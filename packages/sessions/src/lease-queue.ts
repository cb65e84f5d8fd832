import type { MaybePromise, Platform, SessionKey } from '@eventloom/core';
import { abortedError, busyError, fullLineError } from './errors.ts';
import type { ClaimRefusal, LeaseTicket, TakenLease } from './lease-claim.ts';

/** How many may wait for one session in this process. */
const MAX_WAITERS = 1000;
const FIRST_POLL_MS = 5;
/** So long at most is a session free before the first in line of another process takes it. */
const MAX_POLL_MS = 25;
/** Outlives a poll that comes late by far; those behind a process that crashed while it waited go on after this time. */
const TICKET_TTL_MS = 2000;

/** One who waits for a session. */
export interface LeaseWait<T extends TakenLease> extends SessionKey {
  /** How long to wait before giving up with SessionBusyError. */
  readonly waitMs: number;
  readonly abortSignal?: AbortSignal | undefined;
  /** Asks the storage for the lease, with the place in the line of several processes. */
  claim(ticket: LeaseTicket | undefined): MaybePromise<ClaimRefusal | T>;
  /** Gives that place up. */
  withdraw(ticketId: string): MaybePromise<void>;
}

type WaitOutcome<T> = T | Exclude<ClaimRefusal, { readonly status: 'busy' }>;

/**
 * Lines of waiters, one per session, first come first served. Only the head of a line asks the storage; it is woken by a release or
 * a deletion in this process, and by the expiry of the lease it waits for. Where other processes share the storage it also polls,
 * and leaves a ticket there that says since when it waits: of the heads of all processes the one that came first gets the session.
 */
export class LeaseQueue {
  readonly #platform: Platform;
  readonly #isShared: boolean;
  readonly #lines = new Map<string, Set<LeaseWaiter>>();

  constructor(platform: Platform, isShared: boolean) {
    this.#platform = platform;
    this.#isShared = isShared;
  }

  /** True when somebody waits for the session. */
  isAwaited(key: SessionKey): boolean {
    return this.#lines.size > 0 && this.#lines.has(nameOf(key));
  }

  /** Tells the first in line that the session may be free. */
  wake(key: SessionKey): void {
    if (this.#lines.size === 0) return;
    headOf(this.#lines.get(nameOf(key)))?.wakeUp();
  }

  /**
   * Joins the line and returns what the storage said when it was this one's turn: the lease, or that the session is missing.
   * `pending` is a first claim, without a ticket, that is under way already.
   * @throws SessionBusyError when `waitMs` are over, and at once when 1,000 wait already
   * @throws RunAbortedError when the signal fires
   */
  async wait<T extends TakenLease>(
    request: LeaseWait<T>,
    pending?: Promise<ClaimRefusal | T>,
  ): Promise<WaitOutcome<T>> {
    const name = nameOf(request);
    const line = this.#lines.get(name) ?? new Set();
    if (line.size >= MAX_WAITERS) throw fullLineError(request, line.size);
    const waiter = new LeaseWaiter(this.#platform);
    if (line.add(waiter).size === 1) this.#lines.set(name, line);
    try {
      return await this.#waitInLine(request, line, waiter, pending);
    } finally {
      const isHead = headOf(line) === waiter;
      line.delete(waiter);
      if (line.size === 0) this.#lines.delete(name);
      else if (isHead) headOf(line)?.wakeUp();
    }
  }

  async #waitInLine<T extends TakenLease>(
    request: LeaseWait<T>,
    line: ReadonlySet<LeaseWaiter>,
    waiter: LeaseWaiter,
    pending: Promise<ClaimRefusal | T> | undefined,
  ): Promise<WaitOutcome<T>> {
    const sinceMs = this.#platform.now();
    const { waitMs, abortSignal } = request;
    const deadline = sinceMs + waitMs;
    const ticket = this.#isShared ? { id: this.#platform.newUuid(), sinceMs, ttlMs: TICKET_TTL_MS } : undefined;
    let isTicketLeft = false;
    try {
      let first = pending;
      let pollMs = FIRST_POLL_MS;
      for (;;) {
        if (!first && abortSignal?.aborted) throw abortedError(request, abortSignal);
        let untilMs = deadline;
        if (first || headOf(line) === waiter) {
          isTicketLeft = !first && ticket !== undefined;
          const outcome = await (first ?? request.claim(ticket));
          if (outcome.status !== 'busy') {
            isTicketLeft = false;
            return outcome;
          }
          untilMs = Math.min(deadline, outcome.freeAtMs);
          if (ticket && headOf(line) === waiter) {
            // A claim that was under way has left no ticket yet.
            untilMs = first ? 0 : Math.min(deadline, this.#platform.now() + pollMs);
            pollMs = Math.min(pollMs * 2, MAX_POLL_MS);
          }
          first = undefined;
        }
        const nowMs = this.#platform.now();
        if (nowMs >= deadline) throw busyError(request, waitMs);
        if (untilMs > 0 && !abortSignal?.aborted) await waiter.sleep(Math.max(untilMs - nowMs, 1), abortSignal);
      }
    } finally {
      if (ticket && isTicketLeft) this.#platform.background(withdraw(request, ticket));
    }
  }
}

/** Fire and forget: a ticket that is not withdrawn expires. */
async function withdraw(request: LeaseWait<TakenLease>, { id }: LeaseTicket): Promise<void> {
  await request.withdraw(id);
}

/** A set keeps the order in which its elements came. */
function headOf(line: ReadonlySet<LeaseWaiter> | undefined): LeaseWaiter | undefined {
  return line?.values().next().value;
}

function nameOf({ appName, userId, sessionId }: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}

/** One who waits in a line, and sleeps until it is woken or a time has come. */
class LeaseWaiter {
  readonly #platform: Platform;
  /** Set while asleep. */
  #wake: (() => void) | undefined;
  /** Woken while not asleep: the next sleep ends at once. */
  #isWoken = false;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  wakeUp(): void {
    if (this.#wake) this.#wake();
    else this.#isWoken = true;
  }

  /** Ends after the delay, when it is woken, or when the signal fires. */
  sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isWoken) {
      this.#isWoken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wake = undefined;
        cancel();
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = this.#platform.schedule(delayMs, wake);
      signal?.addEventListener('abort', wake, { once: true });
      this.#wake = wake;
    });
  }
}
