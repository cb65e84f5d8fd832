import type { LeaveOpen, OpenRun, RunOutcome, RunRecord, SessionKey, SessionLease } from '@eventloom/core';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim, LeaseTicket } from '../lease-claim.ts';
import type { OpenRunPage, RecordChanges, RunBegin, RunRefusal } from '../session-driver.ts';
import { type RunTaken, toEnd } from '../session-hold.ts';
import { findSession } from './find-session.ts';
import type { SessionRow, SqlStatements } from './statements.ts';

/** Knowledge of a lease's holder about its session, which stays true because nobody else can write to it. */
export interface SessionWriter {
  readonly pk: number;
  lastSeq: number;
  highTimestamp: number;
  listedAt: number;
}

/** Without a ticket one is behind all. */
const LAST_PLACE = { sinceMs: Infinity, id: '' } as const;

/** The leases, waiters and open runs of sessions. */
export class SqlLeases {
  readonly #sql: SqlStatements;
  /** Spares an append under a lease given here from looking up where the session ends. */
  readonly #writers = new WeakMap<SessionLease, SessionWriter>();

  constructor(sql: SqlStatements) {
    this.#sql = sql;
  }

  /**
   * One statement; one that is refused asks why. With a ticket it is called inside a transaction.
   * @param run becomes the session's open run, which is the same or none
   * @throws ConfigurationError when a newer program changed the tables
   */
  claim(claim: LeaseClaim, run?: { readonly invocationId: string; readonly resumable: boolean }): ClaimOutcome {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver, ticket } = claim;
    const { sinceMs, id } = ticket ?? LAST_PLACE;
    const row = this.#sql.claimLease.get(
      appName,
      userId,
      sessionId,
      nowMs,
      ttlMs,
      takeOver ? 1 : 0,
      run?.invocationId ?? null,
      run?.resumable ? 1 : 0,
      sinceMs,
      id,
    );
    if (!row) return this.#refuse(claim);
    const pk = Number(row['pk']);
    if (ticket) this.#sql.removeTicket.run(pk, id, nowMs);
    const key = { appName, userId, sessionId };
    const lease = {
      ...key,
      epoch: Number(row['epoch']),
      ttlMs,
      ...(run ? { invocationId: run.invocationId } : {}),
    };
    this.#writers.set(lease, {
      pk,
      lastSeq: Number(row['last_seq']),
      highTimestamp: row['high_timestamp'] === null ? -Infinity : Number(row['high_timestamp']),
      listedAt: Number(row['listed_at']),
    });
    return { status: 'taken', lease };
  }

  /**
   * Claims the lease for a run, and records it. Called inside a transaction.
   * @param row the session as it is
   */
  claimForRun(row: SessionRow, begin: RunBegin): ClaimRefusal | RunRefusal | RunTaken {
    const { appName, invocationId, requestId, continues } = begin;
    const asked = requestId === undefined ? undefined : this.#sql.run.get(row.pk, requestId);
    if (asked && asked['invocation_id'] !== invocationId)
      return { status: 'known', invocationId: String(asked['invocation_id']) };
    const known = continues ? this.#sql.run.get(row.pk, invocationId) : undefined;
    if (continues && known?.['invocation_id'] !== invocationId) return { status: 'unknown' };
    const wasOpen = row.open_run === invocationId;
    if (row.open_run !== null && !wasOpen) {
      // Who has to wait waits, and asks again.
      const isFree = begin.takeOver || this.#waitFor(row, begin).freeAtMs <= begin.nowMs;
      return isFree ? { status: 'open', run: { appName, ...toOpenRun(row) } } : this.#refuse(begin);
    }
    const resumable = wasOpen && continues ? row.open_resumable === 1 : begin.resumable;
    const outcome = this.claim(begin, { invocationId, resumable });
    if (outcome.status !== 'taken') return outcome;
    const recorded = known ?? this.#sql.recordRun.get(row.pk, invocationId, invocationId, row.last_seq + 1);
    const firstSeq = Number(recorded?.['first_seq']);
    if (requestId !== undefined) this.#sql.recordRun.run(row.pk, requestId, invocationId, firstSeq);
    return { ...outcome, firstSeq, wasOpen };
  }

  /** The session's record of a run or a request. */
  findRun(key: SessionKey, id: string): RunRecord | undefined {
    const row = findSession(this.#sql, key);
    const found = row && this.#sql.run.get(row.pk, id);
    if (!found) return undefined;
    const invocationId = String(found['invocation_id']);
    const record = { invocationId, firstSeq: Number(found['first_seq']) };
    if (row.open_run !== invocationId) {
      const { outcome, code, last_seq: lastSeq } = found;
      if (outcome === null) return record;
      const state = outcome as RunOutcome['state'];
      return { ...record, end: toEnd({ state, code: typeof code === 'string' ? code : undefined }, Number(lastSeq)) };
    }
    const { resumable, attempts, heldUntilMs } = toOpenRun(row);
    return { ...record, open: { resumable, attempts, heldUntilMs } };
  }

  /**
   * Returns the refusal that `claim` would give to this ticket, if it would refuse and the ticket need not be stored
   * again. Must be called inside a transaction.
   */
  refuseAgain(claim: LeaseClaim, ticket: LeaseTicket): ClaimRefusal | undefined {
    const row = findSession(this.#sql, claim);
    if (!row) return undefined;
    const { freeAtMs, ticketUntilMs } = this.#waitFor(row, claim);
    const isLeft = ticketUntilMs >= claim.nowMs + ticket.ttlMs / 2;
    return isLeft && freeAtMs > claim.nowMs ? { status: 'busy', freeAtMs } : undefined;
  }

  #refuse(claim: LeaseClaim): ClaimRefusal {
    const row = findSession(this.#sql, claim);
    if (!row) return { status: 'missing' };
    const { nowMs, ticket } = claim;
    if (ticket) this.#sql.leaveTicket.run(row.pk, ticket.sinceMs, ticket.id, nowMs + ticket.ttlMs);
    return { status: 'busy', freeAtMs: this.#waitFor(row, claim).freeAtMs };
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
    const heldUntilMs = row.lease_until > 0 ? row.free_at : nowMs;
    return {
      freeAtMs: Math.max(heldUntilMs, Number(tickets?.['before_until'] ?? 0)),
      ticketUntilMs: Number(tickets?.['own_until'] ?? 0),
    };
  }

  withdraw({ appName, userId, sessionId }: SessionKey, ticketId: string): void {
    this.#sql.withdrawTicket.run(appName, userId, sessionId, ticketId);
  }

  /** False when the lease is not live. */
  renew({ appName, userId, sessionId, epoch, ttlMs }: SessionLease, nowMs: number): boolean {
    return this.#sql.renewLease.run(appName, userId, sessionId, epoch, nowMs + ttlMs).changes === 1;
  }

  end({ appName, userId, sessionId, epoch }: Omit<SessionLease, 'ttlMs'>): void {
    this.#sql.endLease.run(appName, userId, sessionId, epoch);
  }

  /**
   * Releases like `end`, together with the open run of the lease, unless it stays open. Must be called inside a
   * transaction if records change.
   */
  release(lease: SessionLease, leaveOpen: LeaveOpen, { outcome, forget = [] }: RecordChanges = {}): void {
    const { appName, userId, sessionId, epoch, invocationId } = lease;
    if (outcome && !leaveOpen && invocationId !== undefined)
      this.#sql.recordEnd.run(appName, userId, sessionId, epoch, invocationId, outcome.state, outcome.code ?? null);
    for (const id of forget) this.#sql.forgetRun.run(appName, userId, sessionId, epoch, id);
    if (leaveOpen === true || invocationId === undefined) return this.end(lease);
    const statement = leaveOpen === 'uncounted' ? this.#sql.leaveRun : this.#sql.endRun;
    statement.run(appName, userId, sessionId, epoch, invocationId);
  }

  listOpenRuns({ appName, limit, after }: OpenRunPage): OpenRun[] {
    const rows = this.#sql.openRuns.all(appName, after?.userId ?? '', after?.sessionId ?? '', limit);
    return rows.map((row) => ({ appName, ...toOpenRun(row as unknown as SessionRow) }));
  }

  /** Undefined for a lease that was given elsewhere. */
  writerOf(lease: SessionLease): SessionWriter | undefined {
    return this.#writers.get(lease);
  }

  remember(lease: SessionLease, writer: SessionWriter): void {
    this.#writers.set(lease, writer);
  }
}

function toOpenRun(row: SessionRow): Omit<OpenRun, 'appName'> {
  return {
    userId: row.user_id,
    sessionId: row.session_id,
    invocationId: String(row.open_run),
    resumable: row.open_resumable === 1,
    attempts: row.open_attempts,
    heldUntilMs: row.lease_until > 0 ? row.free_at : 0,
  };
}
