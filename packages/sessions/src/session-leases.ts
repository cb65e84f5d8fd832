import {
  type AcquireLeaseRequest,
  InvalidRequestError,
  type MaybePromise,
  type Platform,
  type SessionKey,
  type SessionLease,
} from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import { abortedError, busyError, fullLineError, notFoundError } from './errors.ts';
import { type ClaimRefusal, type LeaseClaim, type LeaseTicket, TICKET_TTL_MS } from './lease-claim.ts';
import type { SessionDriver } from './session-driver.ts';

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_WAIT_MS = 60_000;
/** Maximum wait: a day. */
const MAX_WAIT_MS = 86_400_000;
/** Maximum number of waiters for one session in this process. */
const MAX_WAITERS = 1000;
const FIRST_POLL_MS = 5;
/** Maximum time for which a session is free before the first waiter of another process takes it. */
const MAX_POLL_MS = 25;

/** The result of a wait: a lease, or the reason why there is none. */
interface LeaseResult {
  readonly status: 'taken' | 'known' | 'unknown' | 'stale' | 'open';
}

/** A claim that waits for a session. */
interface LeaseWait<T extends LeaseResult> extends SessionKey {
  /** Time to wait before SessionBusyError, in milliseconds. */
  readonly waitMs: number;
  readonly abortSignal: AbortSignal | undefined;
  readonly ttlMs: number;
  readonly ask: Ask<T>;
}

/**
 * Asks the storage for a lease.
 * @param existed true if the session existed while the claim waited: then it must not be created, because it was deleted meanwhile
 */
type Ask<T extends LeaseResult> = (claim: LeaseClaim, existed: boolean) => MaybePromise<ClaimRefusal | T>;

/**
 * The leases of a driver's sessions, with a queue of waiters for each session, in order of arrival. Only the first waiter of a queue asks
 * the storage. It is woken by a release or a deletion in this process, and by the expiry of the lease. If other processes share the
 * storage, it also polls, and stores a ticket with the time at which its wait began: among the first waiters of all processes, the earliest
 * gets the session.
 */
export class SessionLeases {
  readonly #driver: SessionDriver;
  readonly #platform: Platform;
  readonly #lines = new Map<string, Set<LeaseWaiter>>();

  constructor(driver: SessionDriver, platform: Platform) {
    this.#driver = driver;
    this.#platform = platform;
  }

  /** True if a caller waits for the session. */
  isAwaited(key: SessionKey): boolean {
    return this.#lines.size > 0 && this.#lines.has(nameOf(key));
  }

  /** Wakes the first waiter, because the session may be free or deleted. */
  wake(key: SessionKey): void {
    if (this.#lines.size === 0) return;
    headOf(this.#lines.get(nameOf(key)))?.wakeUp();
  }

  /** Implements `BaseSessionService.acquireLease`. */
  async acquire(request: AcquireLeaseRequest): Promise<SessionLease> {
    return (await this.take(request, (claim) => this.#driver.claimLease(claim))).lease;
  }

  /**
   * Asks the driver for a lease, repeatedly while it is refused and the request may wait.
   *
   * @throws the errors of `BaseSessionService.acquireLease`
   */
  take<T extends LeaseResult>(request: AcquireLeaseRequest, ask: Ask<T>): MaybePromise<T> {
    const { appName, userId, sessionId, onBusy = 'queue', abortSignal } = request;
    const { ttlMs = DEFAULT_TTL_MS, waitMs = DEFAULT_WAIT_MS } = request;
    if (!(ttlMs > 0 && ttlMs < Infinity))
      throw new InvalidRequestError(`ttlMs: expected a positive number, got ${describeKind(ttlMs)}`);
    if (!(waitMs >= 0 && waitMs <= MAX_WAIT_MS)) {
      throw new InvalidRequestError(
        `waitMs: expected a number from 0 to ${MAX_WAIT_MS} (a day), got ${describeKind(waitMs)}`,
      );
    }
    if (abortSignal?.aborted) throw abortedError(request, abortSignal);
    const takeOver = onBusy === 'interrupt';
    if (!takeOver && this.isAwaited(request)) {
      if (onBusy !== 'queue') throw busyError(request);
      return this.#queue(request, ask);
    }
    const nowMs = this.#platform.now();
    const answer = ask({ appName, userId, sessionId, nowMs, ttlMs, takeOver, ticket: undefined }, false);
    if (answer instanceof Promise)
      return onBusy === 'queue' ? this.#queue(request, ask, answer) : answer.then((given) => granted(request, given));
    return answer.status === 'busy' && onBusy === 'queue' ? this.#queue(request, ask) : granted(request, answer);
  }

  async #queue<T extends LeaseResult>(
    request: AcquireLeaseRequest,
    ask: Ask<T>,
    pending?: Promise<ClaimRefusal | T>,
  ): Promise<T> {
    const { appName, userId, sessionId, ttlMs = DEFAULT_TTL_MS, waitMs = DEFAULT_WAIT_MS, abortSignal } = request;
    const wait = { appName, userId, sessionId, ttlMs, waitMs, abortSignal, ask };
    return granted(request, await this.#wait(wait, pending));
  }

  /**
   * Joins the queue and returns the storage's answer once it is this waiter's turn: the lease, or that the session is missing. `pending` is
   * a first claim without a ticket that was already sent.
   *
   * @throws SessionBusyError after `waitMs`, and immediately if 1,000 callers already wait
   * @throws RunAbortedError when the signal fires
   */
  async #wait<T extends LeaseResult>(
    request: LeaseWait<T>,
    pending?: Promise<ClaimRefusal | T>,
  ): Promise<ClaimRefusal | T> {
    const name = nameOf(request);
    const line = this.#lines.get(name) ?? new Set();
    if (line.size >= MAX_WAITERS) throw fullLineError(request, line.size);
    const waiter = new LeaseWaiter(this.#platform, headOf(line)?.sawSession ?? false);
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

  async #waitInLine<T extends LeaseResult>(
    request: LeaseWait<T>,
    line: ReadonlySet<LeaseWaiter>,
    waiter: LeaseWaiter,
    pending: Promise<ClaimRefusal | T> | undefined,
  ): Promise<ClaimRefusal | T> {
    const sinceMs = this.#platform.now();
    const { appName, userId, sessionId, ttlMs, waitMs, abortSignal } = request;
    const deadline = sinceMs + waitMs;
    const ticket = this.#driver.shared ? { id: this.#platform.newUuid(), sinceMs, ttlMs: TICKET_TTL_MS } : undefined;
    let isTicketLeft = false;
    try {
      let first = pending;
      let pollMs = FIRST_POLL_MS;
      for (;;) {
        if (!first && abortSignal?.aborted) throw abortedError(request, abortSignal);
        let untilMs = deadline;
        if (first || headOf(line) === waiter) {
          isTicketLeft ||= !first && ticket !== undefined;
          const nowMs = this.#platform.now();
          const claim = { appName, userId, sessionId, nowMs, ttlMs, takeOver: false, ticket };
          const outcome = await (first ?? request.ask(claim, waiter.sawSession));
          if (outcome.status !== 'missing') for (const each of line) each.sawSession = true;
          if (outcome.status !== 'busy') {
            // A claim that is refused for another reason may have left the ticket of an earlier claim. Callers that do not wait must
            // not find it.
            const isGone = outcome.status === 'taken' || outcome.status === 'missing';
            if (ticket && isTicketLeft && !isGone) await this.#withdraw(request, ticket);
            isTicketLeft = false;
            return outcome;
          }
          untilMs = Math.min(deadline, outcome.freeAtMs);
          if (ticket && headOf(line) === waiter) {
            // A claim that was already sent has left no ticket yet.
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
      if (ticket && isTicketLeft) this.#platform.background(this.#withdraw(request, ticket));
    }
  }

  /** Withdraws a ticket. The result is not awaited, because a ticket that is not withdrawn expires. */
  async #withdraw({ appName, userId, sessionId }: SessionKey, { id }: LeaseTicket): Promise<void> {
    await this.#driver.withdrawTicket({ appName, userId, sessionId }, id);
  }
}

/** Returns the result if the session exists and is free. */
function granted<T extends LeaseResult>(key: SessionKey, result: ClaimRefusal | T): T {
  if (result.status === 'missing') throw notFoundError(key);
  if (result.status === 'busy') throw busyError(key);
  return result;
}

/** Returns the first waiter. A set keeps the order of insertion. */
function headOf(line: ReadonlySet<LeaseWaiter> | undefined): LeaseWaiter | undefined {
  return line?.values().next().value;
}

function nameOf({ appName, userId, sessionId }: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}

/** A waiter in a queue, which sleeps until it is woken or a time is reached. */
class LeaseWaiter {
  /** True if the session existed while the waiter was in the queue. */
  sawSession: boolean;
  readonly #platform: Platform;
  /** Wakes the waiter; undefined while it is awake. */
  #wake: (() => void) | undefined;
  /** True if the waiter was woken while awake, so that its next sleep ends immediately. */
  #isWoken = false;

  constructor(platform: Platform, sawSession: boolean) {
    this.sawSession = sawSession;
    this.#platform = platform;
  }

  wakeUp(): void {
    if (this.#wake) this.#wake();
    else this.#isWoken = true;
  }

  /** Resolves after the delay, when the waiter is woken, or when the signal fires. */
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
