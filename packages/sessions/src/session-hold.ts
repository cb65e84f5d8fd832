import {
  type EndedRunState,
  type KeepRunOpen,
  type OpenRunState,
  RunAbortedError,
  type RunOutcome,
  type RunRecord,
  type SessionLease,
} from '@eventloom/core';
import { compareText } from './compare-text.ts';
import { addWebhook, forgetWebhooks, type WebhookHold } from './run-webhooks.ts';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim, LeaseTicket } from './lease-claim.ts';
import type {
  AppendOutcome,
  EventAppend,
  RecordChanges,
  RunClaim,
  RunRefusal,
  StoredRun,
  TakenRun,
} from './session-driver.ts';

/**
 * The lease, the waiting callers and the open run of a session, as plain data, for drivers that keep sessions as objects. The functions
 * of this module implement the driver's methods on it; undefined stands for a session that does not exist.
 */
export interface SessionHold {
  /** Epoch of the latest lease. Before the first, at least the highest epoch of earlier sessions with the key. */
  epoch: number;
  /** Time at which the latest lease expires, in milliseconds since the epoch; 0 if it was released. */
  leaseUntilMs: number;
  /** The open run; undefined when no run is open. */
  openRun?: (Omit<OpenRunState, 'heldUntilMs'> & { readonly invocationId: string }) | undefined;
  /** Tickets of waiting callers; undefined for none, and always if the driver is not `shared`. */
  tickets?: readonly StoredTicket[] | undefined;
}

/** The records of a session's runs and requests, by their ids. */
export interface RunTable {
  get(id: string): Omit<StoredRun, 'id'> | undefined;
  set(id: string, run: Omit<StoredRun, 'id'>): unknown;
  delete(id: string): unknown;
}

/** The lease and the record of a run that was begun. */
export type RunTaken = Pick<TakenRun, 'status' | 'lease' | 'firstSeq' | 'wasOpen'>;

/** The ticket of a waiting claim, with its expiry. */
export interface StoredTicket {
  readonly id: string;
  readonly sinceMs: number;
  /** Time at which it expires. */
  readonly untilMs: number;
}

/** True for the latest lease of the session until it is released, even after it has expired. */
export function isLeaseLive<T extends SessionHold>(hold: T | undefined, { epoch }: SessionLease): hold is T {
  return hold?.epoch === epoch && hold.leaseUntilMs > 0;
}

/** Implements `SessionDriver.claimLease`. */
export function takeLease(hold: SessionHold | undefined, claim: LeaseClaim): ClaimOutcome {
  if (!hold) return { status: 'missing' };
  return refusedClaim(hold, claim) ?? { status: 'taken', lease: giveLease(hold, claim) };
}

/** Implements `SessionDriver.beginRun` for a session that has `lastSeq` events: takes the lease and records the run with its webhook. */
export function takeRun(
  hold: SessionHold & WebhookHold,
  runs: RunTable,
  claim: RunClaim,
  lastSeq: number,
): ClaimRefusal | RunRefusal | RunTaken {
  const { appName, userId, sessionId, invocationId, requestId, resumable, continues, lastEpoch } = claim;
  const asked = requestId === undefined ? undefined : runs.get(requestId);
  if (asked && asked.invocationId !== invocationId && runs.get(asked.invocationId))
    return { status: 'known', invocationId: asked.invocationId };
  const known = runs.get(invocationId);
  if (continues && known?.invocationId !== invocationId) return { status: 'unknown' };
  if (lastEpoch !== undefined && lastEpoch !== hold.epoch) return { status: 'stale' };
  const refused = refusedClaim(hold, claim);
  if (refused) return refused;
  const { openRun } = hold;
  if (openRun && openRun.invocationId !== invocationId)
    return { status: 'open', run: { appName, userId, sessionId, ...openRun, heldUntilMs: hold.leaseUntilMs } };
  hold.openRun = {
    invocationId,
    resumable: openRun && continues ? openRun.resumable : resumable,
    attempts: (openRun?.attempts ?? 0) + 1,
  };
  const record = known ?? { invocationId, firstSeq: lastSeq + 1 };
  if (!known) runs.set(invocationId, record);
  if (requestId !== undefined) runs.set(requestId, { invocationId, firstSeq: record.firstSeq });
  if (claim.webhook) addWebhook(hold, claim.webhook);
  const lease = giveLease(hold, claim, invocationId);
  return { status: 'taken', lease, firstSeq: record.firstSeq, wasOpen: openRun !== undefined };
}

/** Implements `SessionDriver.findRun`. */
export function findRecord(hold: SessionHold, runs: RunTable, id: string): RunRecord | undefined {
  const { invocationId = '' } = runs.get(id) ?? {};
  const run = runs.get(invocationId);
  if (!run) return undefined;
  const { firstSeq, end } = run;
  const { openRun, leaseUntilMs: heldUntilMs } = hold;
  const record: RunRecord = { invocationId, firstSeq, ...(end && { end: { ...end } }) };
  if (openRun?.invocationId !== invocationId) return record;
  return { ...record, open: { resumable: openRun.resumable, attempts: openRun.attempts, heldUntilMs } };
}

/**
 * Returns the record of a request that is cancelled before its run begins, in a session that has `lastSeq` events. It has the id of the
 * request, and an end before its first event.
 */
export function cancelledRun(requestId: string, lastSeq: number): RunRecord & { readonly end: EndedRunState } {
  const end: EndedRunState = { state: 'interrupted', code: RunAbortedError.code, lastSeq };
  return { invocationId: requestId, firstSeq: lastSeq + 1, end };
}

/** Implements `SessionDriver.cancelRequest` for a session that has `lastSeq` events. */
export function recordCancelled(
  hold: SessionHold,
  runs: RunTable,
  requestId: string,
  lastSeq: number,
): RunRecord | undefined {
  const found = findRecord(hold, runs, requestId);
  if (found) return found;
  runs.set(requestId, cancelledRun(requestId, lastSeq));
  return findRecord(hold, runs, requestId);
}

function giveLease(hold: SessionHold, claim: LeaseClaim, invocationId?: string): SessionLease {
  const { appName, userId, sessionId, nowMs, ttlMs, ticket } = claim;
  if (ticket) withdrawTicket(hold, ticket.id);
  const epoch = ++hold.epoch;
  hold.leaseUntilMs = nowMs + ttlMs;
  return invocationId === undefined
    ? { appName, userId, sessionId, epoch, ttlMs }
    : { appName, userId, sessionId, epoch, ttlMs, invocationId };
}

/** Returns the refusal of a claim, and stores its ticket; undefined if the session is free for the claim. */
function refusedClaim(
  hold: SessionHold,
  { nowMs, takeOver, ticket }: LeaseClaim,
): Extract<ClaimRefusal, { readonly status: 'busy' }> | undefined {
  const freeAtMs = hold.tickets ? Math.max(hold.leaseUntilMs, untilTurn(hold.tickets, ticket)) : hold.leaseUntilMs;
  if (freeAtMs <= nowMs || takeOver) return undefined;
  if (ticket) leaveTicket(hold, ticket, nowMs);
  return { status: 'busy', freeAtMs };
}

/** Implements `SessionDriver.renewLease`. */
export function keepLease(hold: SessionHold | undefined, lease: SessionLease, nowMs: number): boolean {
  if (!isLeaseLive(hold, lease)) return false;
  hold.leaseUntilMs = nowMs + lease.ttlMs;
  return true;
}

/**
 * Implements `SessionDriver.releaseLease`; undefined stands for the records of a session that does not exist.
 * @param lastSeq the number of the session's last event
 */
export function endLease(
  hold: (SessionHold & WebhookHold) | undefined,
  runs: RunTable | undefined,
  lease: SessionLease,
  keepRunOpen: KeepRunOpen,
  { outcome, forget = [] }: RecordChanges,
  lastSeq: number,
): boolean {
  if (!isLeaseLive(hold, lease)) return false;
  hold.leaseUntilMs = 0;
  const { invocationId = '' } = lease;
  const run = outcome && !keepRunOpen ? runs?.get(invocationId) : undefined;
  if (outcome && run) {
    const { firstSeq } = run;
    runs?.set(invocationId, { invocationId: run.invocationId, firstSeq, end: { ...outcome, lastSeq } });
  }
  for (const id of forget) runs?.delete(id);
  if (hold.webhooks && forget.length > 0) forgetWebhooks(hold, forget);
  const { openRun } = hold;
  if (!openRun || openRun.invocationId !== lease.invocationId) return true;
  if (keepRunOpen === 'without-attempt') hold.openRun = { ...openRun, attempts: openRun.attempts - 1 };
  else if (!keepRunOpen) hold.openRun = undefined;
  return true;
}

/** Creates the end of a run for its record. */
export function toEnd({ state, code }: RunOutcome, lastSeq: number): EndedRunState {
  return code === undefined ? { state, lastSeq } : { state, code, lastSeq };
}

/** Implements `SessionDriver.withdrawTicket`. */
export function withdrawTicket(hold: SessionHold | undefined, ticketId: string): void {
  if (!hold?.tickets) return;
  const others = hold.tickets.filter(({ id }) => id !== ticketId);
  hold.tickets = others.length > 0 ? others : undefined;
}

/** Returns the reason why an append to the session, with or without a lease, is refused; undefined if it is accepted. */
export function refusedAppend(
  hold: SessionHold,
  { lease, nowMs }: EventAppend,
): Extract<AppendOutcome, { readonly status: 'stale' | 'busy' }> | undefined {
  if (lease) return isLeaseLive(hold, lease) ? undefined : { status: 'stale' };
  return hold.leaseUntilMs > nowMs ? { status: 'busy', freeAtMs: hold.leaseUntilMs } : undefined;
}

/**
 * Returns the time at which the last ticket before this one expires, in milliseconds since the epoch; a claim without a ticket comes after
 * all tickets.
 */
function untilTurn(tickets: readonly StoredTicket[], ticket: LeaseTicket | undefined): number {
  const before = tickets.filter(
    ({ id, sinceMs }) =>
      !ticket || sinceMs < ticket.sinceMs || (sinceMs === ticket.sinceMs && compareText(id, ticket.id) < 0),
  );
  return Math.max(0, ...before.map(({ untilMs }) => untilMs));
}

/** Stores a ticket, unless at least half of its time is left. Removes expired tickets. */
function leaveTicket(hold: SessionHold, { id, sinceMs, ttlMs }: LeaseTicket, nowMs: number): void {
  const kept = (hold.tickets ?? []).filter(({ untilMs }) => untilMs > nowMs);
  const own = kept.find((stored) => stored.id === id);
  if (own && own.untilMs >= nowMs + ttlMs / 2) return;
  hold.tickets = [...kept.filter((stored) => stored !== own), { id, sinceMs, untilMs: nowMs + ttlMs }];
}
