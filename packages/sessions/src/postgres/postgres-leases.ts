import type {
  KeepRunOpen,
  OpenRun,
  OpenRunState,
  RunRecord,
  SessionKey,
  SessionLease,
  ToolLedgerEntry,
} from '@eventloom/core';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim } from '../lease-claim.ts';
import type { OpenRunPage, RecordChanges, RunClaim, RunRefusal } from '../session-driver.ts';
import { cancelledRun, type RunTaken, toEnd } from '../session-hold.ts';
import { type EventAppender, outcomeValues, releaseValues } from './event-appender.ts';
import {
  type ClaimRow,
  leaseStatements,
  type LeaseStatements,
  type OpenRunRow,
  type RunClaimRow,
  type RunRow,
} from './lease-statements.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { checkCurrent } from './schema-version.ts';
import { keyOf } from './session-sql.ts';
import { actionsJson, responseJson } from './stored-json.ts';
import type { WriterPositions } from './writer-positions.ts';

/** The outcome of claiming the lease for a run. */
type RunClaimOutcome = ClaimRefusal | RunRefusal | RunTaken;

/** The leases, waiters and runs of sessions, and the tool calls recorded under a lease. */
export class PostgresLeases {
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #positions: WriterPositions;
  readonly #appender: EventAppender;
  readonly #statements: LeaseStatements;

  constructor(database: PostgresDatabase, positions: WriterPositions, appender: EventAppender) {
    this.#database = database;
    this.#run = database.run;
    this.#positions = positions;
    this.#appender = appender;
    this.#statements = leaseStatements(database.tables);
  }

  async claim(claim: LeaseClaim): Promise<ClaimOutcome> {
    let outcome = await this.#claim(this.#run, claim, false);
    while (!outcome) {
      outcome = await this.#database.transaction(async (run) => {
        await this.#appender.lock(run, claim);
        return this.#claim(run, claim, true);
      });
    }
    return outcome;
  }

  async renew(lease: SessionLease, nowMs: number): Promise<boolean> {
    const rows = await this.#run(this.#statements.renew, [
      ...keyOf(lease),
      lease.epoch,
      ...this.#database.clockValues(nowMs),
    ]);
    if (rows.length === 0) await this.#database.checkVersion();
    return rows.length > 0;
  }

  async release(lease: SessionLease, keepRunOpen: KeepRunOpen, changes?: RecordChanges): Promise<boolean> {
    this.#positions.delete(lease.epoch);
    const { release, releaseAndRecord } = this.#statements;
    const values = releaseValues(lease, keepRunOpen);
    const records = changes && [...outcomeValues(changes), changes.forget ?? []];
    const rows = await (records ? this.#run(releaseAndRecord, [...values, ...records]) : this.#run(release, values));
    return rows.length > 0;
  }

  findRun(key: SessionKey, id: string): Promise<RunRecord | undefined> {
    return this.#findRun(this.#run, key, id);
  }

  /** Records a cancelled request, unless the session has a record of its id. Returns the record. */
  async cancelRequest(key: SessionKey, requestId: string): Promise<RunRecord | undefined> {
    const recorded = await this.#database.transaction(async (run) => {
      if ((await this.#appender.lock(run, key)) === undefined) return undefined;
      const found = await this.#findRun(run, key, requestId);
      if (found) return found;
      const { end } = cancelledRun(requestId, 0);
      await run(this.#statements.cancelRequest, [...keyOf(key), requestId, end.state, end.code]);
      return this.#findRun(run, key, requestId);
    });
    if (!recorded) await this.#database.checkVersion();
    return recorded;
  }

  async #findRun(run: RunStatement, key: SessionKey, id: string): Promise<RunRecord | undefined> {
    const nowMs = this.#database.nowMs;
    const values = [...keyOf(key), id, ...this.#database.clockValues(nowMs)];
    const [row] = (await run(this.#statements.findRun, values)) as readonly RunRow[];
    if (!row) return undefined;
    const of = { invocationId: row.invocation_id, firstSeq: Number(row.first_seq) };
    const record = row.is_open ? { ...of, open: openStateOf(row, nowMs) } : of;
    const { outcome: state, code, last_seq: lastSeq } = row;
    return state === null ? record : { ...record, end: toEnd({ state, code: code ?? undefined }, Number(lastSeq)) };
  }

  async withdrawTicket(key: SessionKey, ticketId: string): Promise<void> {
    await this.#run(this.#statements.withdrawTicket, [...keyOf(key), ticketId]);
  }

  async listOpenRuns({ appName, limit, after }: OpenRunPage): Promise<OpenRun[]> {
    const nowMs = this.#database.nowMs;
    const values = [appName, after?.userId ?? '', after?.sessionId ?? '', limit, ...this.#database.clockValues(nowMs)];
    const rows = (await this.#run(this.#statements.openRuns, values)) as readonly OpenRunRow[];
    return rows.map((row) => ({
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      invocationId: row.open_run,
      ...openStateOf(row, nowMs),
    }));
  }

  /** Records different tool calls, all or none. Returns false if the lease is not live. @throws SizeLimitError */
  async recordToolCalls(lease: SessionLease, entries: readonly ToolLedgerEntry[]): Promise<boolean> {
    const calls = entries.map(
      (entry) =>
        [entry.invocationId, entry.entryId, entry.name, entry.status, responseJson(entry), actionsJson(entry)] as const,
    );
    const [one, ...others] = calls;
    if (!one) return true;
    const { recordToolCall, recordToolCalls } = this.#statements;
    const owner = [...keyOf(lease), lease.epoch];
    // The statement for one call takes less time.
    const rows = await (others.length === 0
      ? this.#run(recordToolCall, [...owner, ...one])
      : this.#run(recordToolCalls, [...owner, ...one.map((_, column) => calls.map((call) => call[column]))]));
    if (rows.length === 0) await this.#database.checkVersion();
    return rows.length > 0;
  }

  /**
   * Refuses a waiting run without sending its message, as in most polls. Returns undefined if the run may begin or its ticket has to be
   * written.
   */
  async refuseAgain({ ticket, nowMs, ...key }: RunClaim): Promise<ClaimRefusal | undefined> {
    if (!ticket) return undefined;
    const values = [...keyOf(key), nowMs, ticket.id, ticket.sinceMs, nowMs + ticket.ttlMs];
    const [row] = (await this.#run(this.#statements.refuseAgain, values)) as readonly { readonly free_in: unknown }[];
    return row && { status: 'busy', freeAtMs: nowMs + Number(row.free_in) };
  }

  /**
   * Claims the lease. Returns undefined if the claim has to be repeated with the session's row locked: a lease has
   * expired, or the session was free when the statement began and was taken while it waited for the row.
   */
  async #claim(run: RunStatement, claim: LeaseClaim, isLocked: boolean): Promise<ClaimOutcome | undefined> {
    const [row] = (await run(this.#statements.claim, [...claimValues(claim), isLocked])) as readonly ClaimRow[];
    return this.#toOutcome(claim, row);
  }

  /** Claims the lease for a run; undefined if the claim has to be repeated with the session's row locked. */
  async claimForRun(run: RunStatement, claim: RunClaim, isLocked: boolean): Promise<RunClaimOutcome | undefined> {
    const values = [...claimValues(claim), ...runValues(claim), isLocked, claim.lastEpoch ?? null];
    const [row] = (await run(this.#statements.claimForRun, values)) as readonly RunClaimRow[];
    return this.toRunOutcome(claim, row, Number(row?.seq) + 1);
  }

  /** Reads the outcome of a claim; undefined if the lease was not granted although the session is free. */
  #toOutcome(claim: LeaseClaim, row: ClaimRow | undefined): ClaimOutcome | undefined {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver } = claim;
    checkCurrent(Number(row?.version));
    if (row && row.epoch !== null) {
      const lease = { appName, userId, sessionId, epoch: Number(row.epoch), ttlMs };
      this.#positions.set(lease.epoch, row);
      return { status: 'taken', lease };
    }
    if (!row || row.pk === null) return { status: 'missing' };
    const leftMs = Math.max(Number(row.held_until), Number(row.awaited_until)) - Number(row.now);
    return !takeOver && leftMs > 0 ? { status: 'busy', freeAtMs: nowMs + leftMs } : undefined;
  }

  /**
   * Reads the outcome of claiming the lease for a run; undefined as in `claimForRun`.
   *
   * @param nextSeq the number of the session's next event
   */
  toRunOutcome(
    claim: RunClaim,
    row: RunClaimRow | undefined,
    nextSeq: number | undefined,
  ): RunClaimOutcome | undefined {
    const { appName, userId, sessionId, invocationId, continues, lastEpoch } = claim;
    const outcome = this.#toOutcome(claim, row);
    if (!row || outcome?.status === 'missing') return { status: 'missing' };
    if (outcome?.status === 'taken') {
      const firstSeq = Number(row.first_seq ?? nextSeq);
      const lease = { ...outcome.lease, invocationId };
      return { status: 'taken', lease, firstSeq, wasOpen: row.open_run === invocationId };
    }
    if (row.known_as !== null) return { status: 'known', invocationId: row.known_as };
    if (continues && row.first_seq === null) return { status: 'unknown' };
    if (lastEpoch !== undefined && lastEpoch !== Number(row.seen)) return { status: 'stale' };
    if (outcome || row.open_run === null || row.open_run === invocationId) return outcome;
    const run = { appName, userId, sessionId, invocationId: row.open_run, ...openStateOf(row, claim.nowMs) };
    return { status: 'open', run };
  }
}

/** Returns the parameters of a claim; without a ticket, those of the ticket are null. */
export function claimValues({ nowMs, ttlMs, takeOver, ticket, ...key }: LeaseClaim): unknown[] {
  const place = ticket ? [ticket.id, ticket.sinceMs, nowMs + ticket.ttlMs] : [null, null, null];
  return [...keyOf(key), nowMs, ttlMs, takeOver, ...place];
}

/** Returns the parameters of a run, which follow those of its claim. */
export function runValues({ invocationId, resumable, requestId, continues }: RunClaim): unknown[] {
  return [invocationId, resumable, requestId ?? null, continues];
}

/** @param nowMs time of this process's clock, to which `heldUntilMs` is converted */
function openStateOf(
  row: Pick<OpenRunRow, 'open_resumable' | 'attempts' | 'held_until' | 'now'>,
  nowMs: number,
): OpenRunState {
  const heldUntilMs = Number(row.held_until);
  return {
    resumable: row.open_resumable,
    attempts: row.attempts,
    heldUntilMs: heldUntilMs === 0 ? 0 : nowMs + heldUntilMs - Number(row.now),
  };
}
