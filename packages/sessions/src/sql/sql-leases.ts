import type { SessionLease } from '@eventloom/core';
import type { ClaimOutcome, LeaseClaim } from '../session-driver.ts';
import type { SessionRow, Statements } from './statements.ts';

/** What the holder of a lease knows of its session, because nobody else can write to it. */
export interface SessionWriter {
  readonly pk: number;
  lastSeq: number;
  highTimestamp: number;
  listedAt: number;
}

/** Who may write to a session. Each method is one statement, but a claim that is refused asks why. */
export class SqlLeases {
  readonly #sql: Statements;
  /** Spares an append under a lease given here from looking up where the session ends. */
  readonly #writers = new WeakMap<SessionLease, SessionWriter>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  claim({ appName, userId, sessionId, nowMs, ttlMs, takeOver }: LeaseClaim): ClaimOutcome {
    const row = this.#sql.claimLease.get(appName, userId, sessionId, nowMs, ttlMs, takeOver ? 1 : 0);
    if (!row) {
      const held = this.#sql.session.get(appName, userId, sessionId) as SessionRow | undefined;
      if (!held) return { status: 'missing' };
      return { status: 'busy', freeAtMs: held.lease_until > 0 ? held.free_at : nowMs };
    }
    const lease = { appName, userId, sessionId, epoch: Number(row['epoch']), ttlMs };
    this.#writers.set(lease, {
      pk: Number(row['pk']),
      lastSeq: Number(row['last_seq']),
      highTimestamp: row['high_timestamp'] === null ? -Infinity : Number(row['high_timestamp']),
      listedAt: Number(row['listed_at']),
    });
    return { status: 'taken', lease };
  }

  /** False when the lease is not live. */
  renew({ appName, userId, sessionId, epoch, ttlMs }: SessionLease, nowMs: number): boolean {
    return this.#sql.renewLease.run(appName, userId, sessionId, epoch, nowMs + ttlMs).changes === 1;
  }

  end({ appName, userId, sessionId, epoch }: Omit<SessionLease, 'ttlMs'>): void {
    this.#sql.endLease.run(appName, userId, sessionId, epoch);
  }

  /** Undefined for a lease that was given elsewhere, or of which nothing is certain. */
  writerOf(lease: SessionLease): SessionWriter | undefined {
    return this.#writers.get(lease);
  }

  remember(lease: SessionLease, writer: SessionWriter): void {
    this.#writers.set(lease, writer);
  }

  forget(lease: SessionLease): void {
    this.#writers.delete(lease);
  }
}
