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
import type { ClaimOutcome, LeaseTicket } from './lease-claim.ts';
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
      const wish = { appName, userId, sessionId, nowMs, ttlMs, takeOver, invocationId, resumable, ticket };
      return this.#driver.claimLease(wish);
    };
    const withdraw = (ticketId: string) => this.#driver.withdrawTicket(key, ticketId);
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
      outcome = await this.#queue.wait({ ...key, waitMs, abortSignal, claim, withdraw }, pending);
    }
    if (outcome.status === 'missing') throw notFoundError(request);
    return outcome.lease;
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
