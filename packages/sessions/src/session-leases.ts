import {
  type AcquireLeaseRequest,
  InvalidRequestError,
  type Platform,
  type SessionKey,
  type SessionLease,
} from '@eventloom/core';
import { LeaseQueue } from './lease-queue.ts';
import type { ClaimOutcome, SessionDriver } from './session-driver.ts';
import { abortedError, busyError, notFoundError, staleError } from './session-errors.ts';
import type { SessionNames } from './session-names.ts';

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_WAIT_MS = 60_000;

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
    const { appName, userId, sessionId, ttlMs = DEFAULT_TTL_MS, onBusy = 'queue', abortSignal } = request;
    const { waitMs = DEFAULT_WAIT_MS } = request;
    this.#names.check(appName, userId, sessionId);
    if (!(ttlMs > 0 && ttlMs < Infinity)) throw new InvalidRequestError('ttlMs: must be a positive number');
    if (!(waitMs >= 0)) throw new InvalidRequestError('waitMs: must be zero or more');
    if (abortSignal?.aborted) throw abortedError(request, abortSignal);
    const takeOver = onBusy === 'interrupt';
    const claim = () =>
      this.#driver.claimLease({ appName, userId, sessionId, nowMs: this.#platform.now(), ttlMs, takeOver });
    let pending: Promise<ClaimOutcome> | undefined;
    let outcome: ClaimOutcome | undefined;
    if (takeOver || !this.#queue.isAwaited(request)) {
      const answer = claim();
      if (!(answer instanceof Promise)) outcome = answer;
      else if (onBusy === 'queue') pending = answer;
      else outcome = await answer;
    }
    if (!outcome || outcome.status === 'busy') {
      if (onBusy !== 'queue') throw busyError(request);
      outcome = await this.#queue.wait({ appName, userId, sessionId, waitMs, abortSignal, claim }, pending);
    }
    if (outcome.status === 'missing') throw notFoundError(request);
    return outcome.lease;
  }

  /** @throws StaleWriterError */
  async renew(lease: SessionLease): Promise<void> {
    let live = this.#driver.renewLease(lease, this.#platform.now());
    if (live instanceof Promise) live = await live;
    if (!live) throw staleError(lease);
  }

  async release(lease: SessionLease): Promise<void> {
    const released = this.#driver.releaseLease(lease);
    if (released instanceof Promise) await released;
    this.#queue.wake(lease);
  }
}
