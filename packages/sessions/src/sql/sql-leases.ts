import type {
  KeepRunOpen,
  OpenRun,
  OpenRunState,
  RunOutcome,
  RunRecord,
  SessionKey,
  SessionLease,
} from '@eventloom/core';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim, LeaseTicket } from '../lease-claim.ts';
import type { OpenRunPage, RecordChanges, RunClaim, RunRefusal, StoredRun } from '../session-driver.ts';
import { cancelledRun, type RunTaken, toEnd } from '../session-hold.ts';
import { checkFound, findSession } from './find-session.ts';
import type { BeginRow, ListedRow, SessionRow, SqlStatements } from './statements.ts';

/** The columns for the open run of a hold. */
type OpenRunColumns = Pick<SessionRow, 'open_run' | 'open_request' | 'open_first_seq'>;

/** The position at which the holder of a lease appends next. It stays valid because only the holder can write to the session. */
export interface SessionWriter {
  readonly pk: number;
  lastSeq: number;
  /** The id of the last event; null before the first event. */
  lastId: string | null;
  highTimestamp: number;
  listedAt: number;
}

/** The position of a claim without a ticket: after all tickets. */
const LAST_PLACE = { sinceMs: Infinity, id: '' } as const;

/** The leases, waiters and open runs of sessions. */
export class SqlLeases {
  readonly #sql: SqlStatements;
  /** Positions by lease, so that an append under a lease that was granted here need not read the session. */
  readonly #writers = new WeakMap<SessionLease, SessionWriter>();

  constructor(sql: SqlStatements) {
    this.#sql = sql;
  }

  /**
   * Grants a lease, or stores the claim's ticket. Called inside a transaction.
   * @throws ConfigurationError if a newer program migrated the tables
   */
  claim(claim: LeaseClaim): ClaimOutcome {
    const row = findSession(this.#sql, claim);
    if (!row) return { status: 'missing' };
    const refused = this.#refuse(row, claim);
    if (refused) return refused;
    this.#sql.setLease.run(row.pk, row.epoch + 1, claim.nowMs + claim.ttlMs, claim.ttlMs);
    return { status: 'taken', lease: this.#give(row, claim) };
  }

  /** Reads a session with the records of the run and its request; undefined if it does not exist. */
  findForRun({ appName, userId, sessionId, invocationId, requestId }: RunClaim): BeginRow | undefined {
    const row = this.#sql.sessionForRun.get(appName, userId, sessionId, invocationId, requestId ?? null);
    return checkFound(this.#sql, row as BeginRow | undefined);
  }

  /**
   * Claims the lease for a run and records the run. Called inside a transaction.
   * @param row the session before the run
   */
  claimForRun(row: BeginRow, claim: RunClaim): ClaimRefusal | RunRefusal | RunTaken {
    const { appName, userId, sessionId, invocationId, requestId, continues, lastEpoch, nowMs, ttlMs } = claim;
    const asked = requestId !== undefined && isOpenId(row, requestId) ? row.open_run : row.asked_run;
    if (asked !== null && asked !== invocationId) return { status: 'known', invocationId: asked };
    const wasOpen = row.open_run === invocationId;
    const recorded = (wasOpen ? row.open_first_seq : null) ?? row.first_seq;
    if (continues && recorded === null) return { status: 'unknown' };
    if (lastEpoch !== undefined && lastEpoch !== row.epoch) return { status: 'stale' };
    const refused = row.has_tickets || row.free_at > nowMs ? this.#refuse(row, claim) : undefined;
    if (refused) return refused;
    if (row.open_run !== null && !wasOpen)
      return { status: 'open', run: { appName, userId, sessionId, ...toOpenRun(row) } };
    const firstSeq = recorded ?? row.last_seq + 1;
    // A hold has room for one request: an earlier request of the run is recorded here.
    if (wasOpen && row.open_request !== null && requestId !== undefined) this.#recordOpenRun(row.pk, row);
    this.#sql.setHold.run(
      row.pk,
      row.epoch + 1,
      nowMs + ttlMs,
      ttlMs,
      invocationId,
      requestId ?? (wasOpen ? row.open_request : null),
      firstSeq,
      (wasOpen ? (row.open_attempts ?? 0) : 0) + 1,
      (wasOpen && continues ? row.open_resumable === 1 : claim.resumable) ? 1 : 0,
    );
    return { status: 'taken', lease: this.#give(row, claim, invocationId), firstSeq, wasOpen };
  }

  /** Grants the lease to a claim, and removes its ticket. */
  #give(row: SessionRow, claim: LeaseClaim, invocationId?: string): SessionLease {
    const { appName, userId, sessionId, nowMs, ttlMs, ticket } = claim;
    if (ticket) this.#sql.removeTicket.run(row.pk, ticket.id, nowMs);
    const unbound = { appName, userId, sessionId, epoch: row.epoch + 1, ttlMs };
    const lease = invocationId === undefined ? unbound : { ...unbound, invocationId };
    this.#writers.set(lease, {
      pk: row.pk,
      lastSeq: row.last_seq,
      lastId: row.last_id,
      highTimestamp: row.high_timestamp ?? -Infinity,
      listedAt: row.listed_at,
    });
    return lease;
  }

  /** Records a run or a request. The recorded end of a run stays if there is no new one. */
  recordRun(pk: number, { id, invocationId, firstSeq }: StoredRun, lastSeq?: number, outcome?: RunOutcome): void {
    const end = outcome && lastSeq !== undefined ? [lastSeq, outcome.state, outcome.code ?? null] : [null, null, null];
    this.#sql.recordRun.run(pk, id, invocationId, firstSeq, ...end);
  }

  /** Records an open run and its request, unless the run was forgotten. */
  #recordOpenRun(pk: number, row: OpenRunColumns, lastSeq?: number, outcome?: RunOutcome): void {
    const { open_run: invocationId, open_request: requestId, open_first_seq: firstSeq } = row;
    if (invocationId === null || firstSeq === null) return;
    this.recordRun(pk, { id: invocationId, invocationId, firstSeq }, lastSeq, outcome);
    if (requestId !== null) this.recordRun(pk, { id: requestId, invocationId, firstSeq });
  }

  /** Returns the session's record of a run or a request. */
  findRun(key: SessionKey, id: string): RunRecord | undefined {
    const row = findSession(this.#sql, key);
    if (!row) return undefined;
    const { invocationId, ...open } = toOpenRun(row);
    const isOpen = isOpenId(row, id);
    const found = this.#sql.run.get(row.pk, isOpen ? invocationId : id);
    if (!found) return isOpen ? { invocationId, firstSeq: Number(row.open_first_seq), open } : undefined;
    const of = { invocationId: String(found['invocation_id']), firstSeq: Number(found['first_seq']) };
    const record = of.invocationId === invocationId ? { ...of, open } : of;
    const { outcome, code, last_seq: lastSeq } = found;
    if (outcome === null) return record;
    const state = outcome as RunOutcome['state'];
    return { ...record, end: toEnd({ state, code: typeof code === 'string' ? code : undefined }, Number(lastSeq)) };
  }

  /** Records a cancelled request, unless the session has a record of its id. Returns the record. Called inside a transaction. */
  cancelRequest(key: SessionKey, requestId: string): RunRecord | undefined {
    const row = findSession(this.#sql, key);
    const found = row && this.findRun(key, requestId);
    if (!row || found) return found;
    const run = cancelledRun(requestId, row.last_seq);
    this.recordRun(row.pk, { ...run, id: requestId }, run.end.lastSeq, run.end);
    return run;
  }

  /**
   * Returns the refusal of a claim with this ticket; undefined if the claim may succeed, or if its ticket has to be stored again. Must be
   * called inside a transaction.
   */
  refuseAgain(claim: LeaseClaim, ticket: LeaseTicket): ClaimRefusal | undefined {
    const row = findSession(this.#sql, claim);
    if (!row) return undefined;
    const { freeAtMs, ticketUntilMs } = this.#waitFor(row, claim);
    const isLeft = ticketUntilMs >= claim.nowMs + ticket.ttlMs / 2;
    return isLeft && freeAtMs > claim.nowMs ? { status: 'busy', freeAtMs } : undefined;
  }

  /** Refuses a claim while the session is not free for it, and stores its ticket. */
  #refuse(row: SessionRow, claim: LeaseClaim): ClaimRefusal | undefined {
    const { nowMs, ticket, takeOver } = claim;
    if (takeOver) return undefined;
    const { freeAtMs } = this.#waitFor(row, claim);
    if (freeAtMs <= nowMs) return undefined;
    this.#shorten(row, nowMs);
    if (ticket) this.#sql.leaveTicket.run(row.pk, ticket.sinceMs, ticket.id, nowMs + ticket.ttlMs);
    return { status: 'busy', freeAtMs: Math.min(freeAtMs, nowMs + 2 * claim.ttlMs) };
  }

  /**
   * Shortens a lease that ends later than any lease of this moment, because the clock was ahead when it was granted or
   * renewed: its process may have been killed. A process that lives renews the lease in time.
   */
  #shorten({ pk, last_seq: lastSeq }: SessionRow, nowMs: number): void {
    this.#sql.shortenLease.run(pk, nowMs);
    this.#sql.shortenRenewal.run(pk, lastSeq, nowMs);
  }

  /**
   * Returns the time at which the session is free for this claim, unless leases and tickets are renewed, and the time
   * at which its own ticket expires.
   */
  #waitFor(
    row: SessionRow,
    { nowMs, ticket }: LeaseClaim,
  ): { readonly freeAtMs: number; readonly ticketUntilMs: number } {
    const { sinceMs, id } = ticket ?? LAST_PLACE;
    const tickets = this.#sql.tickets.get(row.pk, nowMs, sinceMs, id);
    return {
      freeAtMs: Math.max(row.free_at, Number(tickets?.['before_until'] ?? 0)),
      ticketUntilMs: Number(tickets?.['own_until'] ?? 0),
    };
  }

  withdraw({ appName, userId, sessionId }: SessionKey, ticketId: string): void {
    this.#sql.withdrawTicket.run(appName, userId, sessionId, ticketId);
  }

  /** Renews a lease. Returns false if the lease is not live. */
  renew({ appName, userId, sessionId, epoch, ttlMs }: SessionLease, nowMs: number): boolean {
    return this.#sql.renewLease.run(appName, userId, sessionId, epoch, nowMs + ttlMs).changes === 1;
  }

  /** Ends a live lease, and its open run unless that stays open. Returns false if the lease is not live. Called inside a transaction. */
  release(
    lease: Omit<SessionLease, 'ttlMs'>,
    keepRunOpen: KeepRunOpen,
    { outcome, forget = [] }: RecordChanges = {},
  ): boolean {
    const { appName, userId, sessionId, epoch, invocationId = null } = lease;
    const held = [appName, userId, sessionId, epoch] as const;
    for (const id of forget) {
      this.#sql.forgetRun.run(...held, id);
      this.#sql.forgetOpenRun.run(...held, id);
      this.#sql.forgetWebhooks.run(...held, id);
    }
    const isLeft = keepRunOpen !== false && invocationId !== null;
    const ended = isLeft ? undefined : this.#sql.removeHold.get(...held, invocationId);
    if (!ended)
      return this.#sql.freeHold.run(...held, keepRunOpen === 'without-attempt' && isLeft ? 1 : 0).changes === 1;
    const pk = Number(ended['session']);
    // If no event has the epoch of the lease, the session's row must keep it.
    if (ended['last_epoch'] !== epoch) this.#sql.setEpoch.run(pk, epoch);
    this.#recordOpenRun(pk, ended as unknown as OpenRunColumns, Number(ended['last_seq']), outcome);
    return true;
  }

  listOpenRuns({ appName, limit, after }: OpenRunPage): OpenRun[] {
    const rows = this.#sql.openRuns.all(appName, after?.userId ?? '', after?.sessionId ?? '', limit);
    return (rows as unknown as ListedRow[]).map((row) => {
      return { appName, userId: row.user_id, sessionId: row.session_id, ...toOpenRun(row) };
    });
  }

  /** Returns the position of a lease; undefined if another service granted it. */
  writerOf(lease: SessionLease): SessionWriter | undefined {
    return this.#writers.get(lease);
  }

  remember(lease: SessionLease, writer: SessionWriter): void {
    this.#writers.set(lease, writer);
  }
}

function toOpenRun(row: SessionRow): OpenRunState & { readonly invocationId: string } {
  return {
    invocationId: String(row.open_run),
    resumable: row.open_resumable === 1,
    attempts: row.open_attempts ?? 0,
    heldUntilMs: row.free_at,
  };
}

/** True for the ids of the open run that are recorded in the hold. */
function isOpenId(
  { open_run: run, open_request: request, open_first_seq: firstSeq }: OpenRunColumns,
  id: string,
): boolean {
  return firstSeq !== null && (id === run || id === request);
}
