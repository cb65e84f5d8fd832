import type { LeaveOpen, OpenRun, SessionKey, SessionLease } from '@eventloom/core';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim, LeaseTicket } from '../lease-claim.ts';
import type { OpenRunPage } from '../session-driver.ts';
import { findSession } from './find-session.ts';
import type { SessionRow, Statements } from './statements.ts';

/** What the holder of a lease knows of its session, because nobody else can write to it. */
export interface SessionWriter {
  readonly pk: number;
  lastSeq: number;
  highTimestamp: number;
  listedAt: number;
}

/** Without a ticket one is behind all. */
const LAST_PLACE = { sinceMs: Infinity, id: '' } as const;

/** Who may write to a session, who waits for it, and which run is open. */
export class SqlLeases {
  readonly #sql: Statements;
  /** Spares an append under a lease given here from looking up where the session ends. */
  readonly #writers = new WeakMap<SessionLease, SessionWriter>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /**
   * One statement; one that is refused asks why. With a ticket it is called inside a transaction.
   * @throws ConfigurationError when a newer program changed the tables
   */
  claim(claim: LeaseClaim): ClaimOutcome {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver, invocationId, resumable, ticket } = claim;
    const { sinceMs, id } = ticket ?? LAST_PLACE;
    const run = [invocationId ?? null, resumable ? 1 : 0] as const;
    const row = this.#sql.claimLease.get(
      appName,
      userId,
      sessionId,
      nowMs,
      ttlMs,
      takeOver ? 1 : 0,
      ...run,
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
      ...(invocationId === undefined ? {} : { invocationId }),
    };
    this.#writers.set(lease, {
      pk,
      lastSeq: Number(row['last_seq']),
      highTimestamp: row['high_timestamp'] === null ? -Infinity : Number(row['high_timestamp']),
      listedAt: Number(row['listed_at']),
    });
    return { status: 'taken', lease };
  }

  /** What `claim` would say to one with this ticket, if that is no and the ticket need not be left anew. Called inside a transaction. */
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

  /** When the session is free for this one, unless leases and tickets are kept for longer; and until when its own ticket is kept. */
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

  /** As `end`, with the open run that the lease was for, unless it is left open. */
  release(lease: SessionLease, leaveOpen: LeaveOpen): void {
    const { appName, userId, sessionId, epoch, invocationId } = lease;
    if (leaveOpen === true || invocationId === undefined) return this.end(lease);
    const statement = leaveOpen === 'uncounted' ? this.#sql.leaveRun : this.#sql.endRun;
    statement.run(appName, userId, sessionId, epoch, invocationId);
  }

  listOpenRuns({ appName, limit, after }: OpenRunPage): OpenRun[] {
    const rows = this.#sql.openRuns.all(appName, after?.userId ?? '', after?.sessionId ?? '', limit);
    return rows.map((row) => ({
      appName,
      userId: String(row['user_id']),
      sessionId: String(row['session_id']),
      invocationId: String(row['open_run']),
      attempts: Number(row['open_attempts']),
      heldUntilMs: Number(row['lease_until']) > 0 ? Number(row['free_at']) : 0,
    }));
  }

  /** Undefined for a lease that was given elsewhere. */
  writerOf(lease: SessionLease): SessionWriter | undefined {
    return this.#writers.get(lease);
  }

  remember(lease: SessionLease, writer: SessionWriter): void {
    this.#writers.set(lease, writer);
  }
}
