import type { LeaveOpen, SessionLease } from '@eventloom/core';
import { compareText } from './compare-text.ts';
import type { ClaimOutcome, LeaseClaim, LeaseTicket } from './lease-claim.ts';
import type { AppendOutcome, EventAppend } from './session-driver.ts';

/**
 * Who may write to a session, who waits for it and which run is open: what a driver that keeps sessions as objects has in each, as plain
 * data. The functions for it do what the driver's methods promise; to them undefined is a session that is not there.
 */
export interface SessionHold {
  /** Of the latest lease; 0 before the first. */
  epoch: number;
  /** When the latest lease expires, in milliseconds since the epoch; 0 when it is over. */
  leaseUntilMs: number;
  /** The run, and how often a lease was taken for it and counts; undefined when no run is open. */
  openRun?: { readonly invocationId: string; readonly attempts: number } | undefined;
  /** Of those who wait, with when they run out; undefined for none, and always in a driver that is not `shared`. */
  tickets?: readonly StoredTicket[] | undefined;
}

/** A ticket that a claim left. */
export interface StoredTicket {
  readonly id: string;
  readonly sinceMs: number;
  /** When it runs out. */
  readonly untilMs: number;
}

/** True for the lease of the session until it is released or another one is given, expired or not. */
export function isLeaseLive<T extends SessionHold>(hold: T | undefined, { epoch }: SessionLease): hold is T {
  return hold?.epoch === epoch && hold.leaseUntilMs > 0;
}

/**
 * As `SessionDriver.claimLease`. `nextEpoch` is called only when the lease is given, for an epoch that is higher than any before, also
 * than those of earlier sessions of the key.
 */
export function takeLease(hold: SessionHold | undefined, claim: LeaseClaim, nextEpoch: () => number): ClaimOutcome {
  if (!hold) return { status: 'missing' };
  const { appName, userId, sessionId, nowMs, ttlMs, takeOver, invocationId, resumable, ticket } = claim;
  const freeAtMs = hold.tickets ? Math.max(hold.leaseUntilMs, untilTurn(hold.tickets, ticket)) : hold.leaseUntilMs;
  if (freeAtMs > nowMs && !takeOver) {
    if (ticket) leaveTicket(hold, ticket, nowMs);
    return { status: 'busy', freeAtMs };
  }
  if (ticket) withdrawTicket(hold, ticket.id);
  hold.epoch = nextEpoch();
  hold.leaseUntilMs = nowMs + ttlMs;
  const { epoch } = hold;
  if (invocationId === undefined) return { status: 'taken', lease: { appName, userId, sessionId, epoch, ttlMs } };
  const attempts = hold.openRun?.invocationId === invocationId ? hold.openRun.attempts + 1 : 1;
  hold.openRun = resumable ? { invocationId, attempts } : undefined;
  return { status: 'taken', lease: { appName, userId, sessionId, epoch, ttlMs, invocationId } };
}

/** As `SessionDriver.renewLease`. */
export function keepLease(hold: SessionHold | undefined, lease: SessionLease, nowMs: number): boolean {
  if (!isLeaseLive(hold, lease)) return false;
  hold.leaseUntilMs = nowMs + lease.ttlMs;
  return true;
}

/** As `SessionDriver.releaseLease`. */
export function endLease(hold: SessionHold | undefined, lease: SessionLease, leaveOpen: LeaveOpen): void {
  if (!isLeaseLive(hold, lease)) return;
  hold.leaseUntilMs = 0;
  const { openRun } = hold;
  if (!openRun || openRun.invocationId !== lease.invocationId) return;
  if (leaveOpen === 'uncounted') hold.openRun = { ...openRun, attempts: openRun.attempts - 1 };
  else if (!leaveOpen) hold.openRun = undefined;
}

/** As `SessionDriver.withdrawTicket`. */
export function withdrawTicket(hold: SessionHold | undefined, ticketId: string): void {
  if (!hold?.tickets) return;
  const others = hold.tickets.filter(({ id }) => id !== ticketId);
  hold.tickets = others.length > 0 ? others : undefined;
}

/** Why an append to the session is refused, under its lease or without one; undefined when it is not. */
export function refusedAppend(
  hold: SessionHold,
  { lease, nowMs }: EventAppend,
): Extract<AppendOutcome, { readonly status: 'stale' | 'busy' }> | undefined {
  if (lease) return isLeaseLive(hold, lease) ? undefined : { status: 'stale' };
  return hold.leaseUntilMs > nowMs ? { status: 'busy', freeAtMs: hold.leaseUntilMs } : undefined;
}

/** When the last ticket before this one runs out; every ticket is before none. */
function untilTurn(tickets: readonly StoredTicket[], ticket: LeaseTicket | undefined): number {
  const before = tickets.filter(
    ({ id, sinceMs }) =>
      !ticket || sinceMs < ticket.sinceMs || (sinceMs === ticket.sinceMs && compareText(id, ticket.id) < 0),
  );
  return Math.max(0, ...before.map(({ untilMs }) => untilMs));
}

/** Writes a ticket, unless it is good for half of its time yet. Those that ran out go. */
function leaveTicket(hold: SessionHold, { id, sinceMs, ttlMs }: LeaseTicket, nowMs: number): void {
  const kept = (hold.tickets ?? []).filter(({ untilMs }) => untilMs > nowMs);
  const own = kept.find((stored) => stored.id === id);
  if (own && own.untilMs >= nowMs + ttlMs / 2) return;
  hold.tickets = [...kept.filter((stored) => stored !== own), { id, sinceMs, untilMs: nowMs + ttlMs }];
}
