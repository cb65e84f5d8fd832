import type { SessionKey, SessionLease } from '@eventloom/core';

/** Asks for a lease. It leaves the session's open run as it is. */
export interface LeaseClaim extends SessionKey {
  readonly nowMs: number;
  readonly ttlMs: number;
  /** Take it also from an owner whose lease has not expired. */
  readonly takeOver: boolean;
  /**
   * The place in the line of those who wait in several processes: undefined at first, and always unless the driver is `shared`. A claim
   * is refused as busy while a ticket that has not run out is before it: for a claim without a ticket any of them is. Refused with
   * a ticket, the claim leaves it for `ttlMs` from now, unless it is there for half of that yet; given or withdrawn, it is removed.
   */
  readonly ticket: LeaseTicket | undefined;
}

/** The place of one who waits for a lease, in the order of `sinceMs` and then of the ids. */
export interface LeaseTicket {
  /** Unique. */
  readonly id: string;
  /** Begin of the wait in milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly ttlMs: number;
}

/**
 * The reason for which a lease is refused: the session does not exist, or it is held until this time unless its holder
 * renews.
 */
export type ClaimRefusal = { readonly status: 'missing' } | { readonly status: 'busy'; readonly freeAtMs: number };

/** The lease that its owner gets: a plain object, compared by value. */
export interface TakenLease {
  readonly status: 'taken';
  readonly lease: SessionLease;
}

/** The outcome of a claim. */
export type ClaimOutcome = ClaimRefusal | TakenLease;
