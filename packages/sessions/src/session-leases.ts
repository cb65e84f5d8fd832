import {
  type AcquireLeaseRequest,
  checkName,
  InvalidRequestError,
  type MaybePromise,
  type Platform,
  type ReleaseLeaseOptions,
  type SessionKey,
  type SessionLease,
} from '@eventloom/core';
import { LeaseQueue } from './lease-queue.ts';
import type { ClaimRefusal, LeaseClaim, LeaseTicket, TakenLease } from './lease-claim.ts';
import type { SessionDriver } from './session-driver.ts';
import { abortedError, busyError, notFoundError, staleError } from './errors.ts';
import type { SessionNames } from './session-names.ts';
import { whenReady } from './when-ready.ts';

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_WAIT_MS = 60_000;
/** A day. */
const MAX_WAIT_MS = 86_400_000;

/** The leases of a driver's sessions, with lines of those who wait for one. */
export class SessionLeases {
  readonly #driver: SessionDriver;
  readonly #platform: Platform;
  readonly #names: SessionNames;
  readonly #queue: LeaseQueue;

  constructor(driver: SessionDriver, platform: Platform, names: SessionNames) {
    this.#driver = driver;
    this.#platform = platform;
    this.#names = names;
    this.#queue = new LeaseQueue(platform, driver.shared);
  }

  /** True when somebody waits for the session. */
  isAwaited(key: SessionKey): boolean {
    return this.#queue.isAwaited(key);
  }

  /** Tells the first in line that the session may be free, or gone. */
  wake(key: SessionKey): void {
    this.#queue.wake(key);
  }

  /** As `BaseSessionService.acquireLease`. */
  async acquire(request: AcquireLeaseRequest): Promise<SessionLease> {
    return (await this.take(request, (claim) => this.#driver.claimLease(claim))).lease;
  }

  /**
   * Asks the driver for a lease, again and again while it is refused and the request wants to wait.
   * @throws what `BaseSessionService.acquireLease` throws
   */
  take<T extends TakenLease>(
    request: AcquireLeaseRequest,
    ask: (claim: LeaseClaim) => MaybePromise<ClaimRefusal | T>,
  ): MaybePromise<T> {
    const { appName, userId, sessionId, ttlMs = DEFAULT_TTL_MS, onBusy = 'queue', abortSignal } = request;
    const { waitMs = DEFAULT_WAIT_MS, invocationId, resumable = false } = request;
    this.#names.check(appName, userId, sessionId);
    if (invocationId !== undefined) checkName('invocationId', invocationId);
    if (!(ttlMs > 0 && ttlMs < Infinity)) throw new InvalidRequestError('ttlMs: must be a positive number');
    if (!(waitMs >= 0 && waitMs <= MAX_WAIT_MS)) {
      throw new InvalidRequestError(`waitMs: must be from 0 to ${MAX_WAIT_MS}, which is a day`);
    }
    if (abortSignal?.aborted) throw abortedError(request, abortSignal);
    const takeOver = onBusy === 'interrupt';
    const key = { appName, userId, sessionId };
    const claim = (ticket?: LeaseTicket) => {
      const nowMs = this.#platform.now();
      return ask({ appName, userId, sessionId, nowMs, ttlMs, takeOver, invocationId, resumable, ticket });
    };
    const taken = (outcome: ClaimRefusal | T): T => {
      if (outcome.status === 'missing') throw notFoundError(request);
      if (outcome.status === 'busy') throw busyError(request);
      return outcome;
    };
    const wait = async (pending?: Promise<ClaimRefusal | T>): Promise<T> => {
      const withdraw = (ticketId: string) => this.#driver.withdrawTicket(key, ticketId);
      return taken(await this.#queue.wait({ ...key, waitMs, abortSignal, claim, withdraw }, pending));
    };
    if (!takeOver && this.#queue.isAwaited(request)) {
      if (onBusy !== 'queue') throw busyError(request);
      return wait();
    }
    const answer = claim();
    if (answer instanceof Promise) return onBusy === 'queue' ? wait(answer) : answer.then(taken);
    return answer.status === 'busy' && onBusy === 'queue' ? wait() : taken(answer);
  }

  /** @throws StaleWriterError */
  renew(lease: SessionLease): MaybePromise<void> {
    return whenReady(this.#driver.renewLease(lease, this.#platform.now()), (isLive) => {
      if (!isLive) throw staleError(lease);
    });
  }

  release(lease: SessionLease, { leaveOpen = false }: ReleaseLeaseOptions = {}): MaybePromise<void> {
    return whenReady(this.#driver.releaseLease(lease, leaveOpen), () => this.#queue.wake(lease));
  }
}
