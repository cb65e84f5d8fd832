import type { SessionKey, SessionLease } from '@eventloom/core';

/** Parameters of `SessionDriver.claimLease`. The session's open run does not change. */
export interface LeaseClaim extends SessionKey {
  readonly nowMs: number;
  readonly ttlMs: number;
  /** True takes the session over from a lease that has not expired. */
  readonly takeOver: boolean;
  /**
   * Position among the callers that wait in several processes; undefined in a first attempt, and always if the driver is not `shared`. A
   * claim is refused as busy while an earlier ticket has not expired; for a claim without a ticket every ticket is earlier. A refused claim
   * stores its ticket for `ttlMs` from now, unless the ticket is already stored for at least half of that time. A granted or withdrawn
   * claim removes its ticket.
   */
  readonly ticket: LeaseTicket | undefined;
}

/** Position of a caller that waits for a lease. Tickets are ordered by `sinceMs`, then by id. */
export interface LeaseTicket {
  /** Unique id of the ticket. */
  readonly id: string;
  /** Time at which the wait began, in milliseconds since the epoch. */
  readonly sinceMs: number;
  readonly ttlMs: number;
}

/**
 * Time after which a ticket expires, in milliseconds, so that claims behind a crashed waiter proceed. It is longer than the time between
 * late polls.
 */
export const TICKET_TTL_MS = 2000;

/** The reason why a lease is refused: the session does not exist, or it is held until this time unless its holder renews the lease. */
export type ClaimRefusal = { readonly status: 'missing' } | { readonly status: 'busy'; readonly freeAtMs: number };

/** A granted lease. It is a plain object, compared by value. */
export interface TakenLease {
  readonly status: 'taken';
  readonly lease: SessionLease;
}

/** The outcome of a claim. */
export type ClaimOutcome = ClaimRefusal | TakenLease;
