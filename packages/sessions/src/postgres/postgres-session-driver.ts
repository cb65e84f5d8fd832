import type { LeaveOpen, OpenRun, SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import type { ClaimOutcome, LeaseClaim } from '../lease-claim.ts';
import type {
  AppendOutcome,
  BeginOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  OpenRunPage,
  RunBegin,
  RunEnd,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  StateEntry,
  StoredEventWindow,
  StoredSession,
} from '../session-driver.ts';
import { EventAppender, releaseValues } from './event-appender.ts';
import { type ClaimRow, leaseStatements, type LeaseStatements, type OpenRunRow } from './lease-statements.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { readStatements, type ReadStatements } from './read-statements.ts';
import { checkCurrent } from './schema-version.ts';
import { SessionImporter } from './session-importer.ts';
import { type CreatedRow, sessionStatements, type SessionStatements } from './session-statements.ts';
import type { Statement } from './statement.ts';
import { actionsJson, responseJson, toStateLists } from './stored-json.ts';
import { StoredRows } from './stored-rows.ts';
import { WriterPositions } from './writer-positions.ts';

/** Sessions in PostgreSQL. Every method is one statement, but those that delete and import, and an append that has to wait. */
export class PostgresSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #positions = new WriterPositions();
  readonly #appender: EventAppender;
  readonly #importer: SessionImporter;
  readonly #leases: LeaseStatements;
  readonly #reads: ReadStatements;
  readonly #sessions: SessionStatements;

  constructor(database: PostgresDatabase) {
    const { tables, run } = database;
    this.#database = database;
    this.#run = run;
    this.#appender = new EventAppender(database, this.#positions);
    this.#leases = leaseStatements(tables);
    this.#reads = readStatements(tables);
    this.#sessions = sessionStatements(tables);
    this.#importer = new SessionImporter(database, this.#sessions, this.#reads);
  }

  async createSession(creation: SessionCreation): Promise<CreatedSession | undefined> {
    const { writes, nowMs } = creation;
    const values = [...keyOf(creation), nowMs, ...toStateLists(writes, 'session', creation.sessionId)];
    const rows = (await this.#run(this.#sessions.create, values)) as readonly CreatedRow[];
    const [made] = rows;
    if (!made) return this.#refused();
    const state = new Map<string, StateEntry>();
    for (const { kind, key, value } of rows) {
      if (key !== null) state.set(`${kind}:${key}`, { scope: kind, key, value: JSON.parse(value) as unknown });
    }
    for (const { scope, key, value } of structuredClone(writes)) state.set(`${scope}:${key}`, { scope, key, value });
    return { incarnation: made.pk, state: [...state.values()] };
  }

  async readSession(key: SessionKey, window: EventWindow): Promise<StoredSession | undefined> {
    const { session, narrowedSession } = this.#reads;
    return (await this.#readWindow(this.#run, key, window, session, narrowedSession)).session;
  }

  async listSessions({ appName, userId, limit, after }: SessionPage): Promise<StoredSession[]> {
    const begin = after ? [after.updatedAtMs, after.sessionId, after.userId] : [Infinity, '', ''];
    const values = [appName, ...begin, limit];
    const rows =
      userId === undefined
        ? await this.#run(this.#reads.sessionsOfApp, values)
        : await this.#run(this.#reads.sessionsOfUser, [...values, userId]);
    return new StoredRows(appName, rows).sessions;
  }

  async readEvents(key: SessionKey, window: EventWindow): Promise<StoredEventWindow | undefined> {
    const { events, narrowedEvents } = this.#reads;
    return (await this.#readWindow(this.#run, key, window, events, narrowedEvents)).window;
  }

  async readBackground(key: SessionKey): Promise<SessionBackground | undefined> {
    const rows = new StoredRows(key.appName, await this.#run(this.#reads.background, keyOf(key)));
    const { session, initialState, toolCalls } = rows;
    return session && { ...session, initialState, toolCalls };
  }

  async importSession(session: SessionImport): Promise<CreatedSession | undefined> {
    return (await this.#importer.import(session)) ?? this.#refused();
  }

  /** Under the lock: rows that somebody appends meanwhile would be invisible to what deletes them, and stay. */
  async deleteSession(key: SessionKey): Promise<void> {
    const isFound = await this.#database.transaction(async (run) => {
      const pk = await this.#appender.lock(run, key);
      if (pk !== undefined) await run(this.#sessions.removeSession, [...keyOf(key), pk]);
      return pk !== undefined;
    });
    if (!isFound) await this.#refused();
  }

  appendEvent(append: EventAppend): Promise<AppendOutcome> {
    return this.#appender.append(append);
  }

  async beginRun(begin: RunBegin): Promise<BeginOutcome> {
    if (begin.message || begin.create) return this.#database.transaction((run) => this.#beginLocked(run, begin));
    const claimed = await this.claimLease(begin);
    if (claimed.status !== 'taken') return claimed;
    const session = await this.readSession(begin, begin.window);
    return session ? { ...claimed, session, duplicate: undefined } : { status: 'missing' };
  }

  async endRun(end: RunEnd): Promise<AppendOutcome> {
    const outcome = await this.#appender.append(end, end);
    this.#positions.delete(end.lease.epoch);
    return outcome;
  }

  async claimLease(claim: LeaseClaim): Promise<ClaimOutcome> {
    let outcome = await this.#claim(this.#run, claim, false);
    while (!outcome) {
      outcome = await this.#database.transaction(async (run) => {
        await this.#appender.lock(run, claim);
        return this.#claim(run, claim, true);
      });
    }
    return outcome;
  }

  async renewLease(lease: SessionLease, nowMs: number): Promise<boolean> {
    const rows = await this.#run(this.#leases.renew, [...keyOf(lease), lease.epoch, nowMs + lease.ttlMs]);
    if (rows.length === 0) await this.#refused();
    return rows.length > 0;
  }

  async releaseLease(lease: SessionLease, leaveOpen: LeaveOpen): Promise<void> {
    this.#positions.delete(lease.epoch);
    await this.#run(this.#leases.release, releaseValues(lease, leaveOpen));
  }

  async withdrawTicket(key: SessionKey, ticketId: string): Promise<void> {
    await this.#run(this.#leases.withdrawTicket, [...keyOf(key), ticketId]);
  }

  async listOpenRuns({ appName, limit, after }: OpenRunPage): Promise<OpenRun[]> {
    const values = [appName, after?.userId ?? '', after?.sessionId ?? '', limit];
    const rows = (await this.#run(this.#leases.openRuns, values)) as readonly OpenRunRow[];
    return rows.map((row) => ({
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      invocationId: row.open_run,
      attempts: row.attempts,
      heldUntilMs: Number(row.held_until),
    }));
  }

  async recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): Promise<boolean> {
    const { invocationId, callId, name, status } = entry;
    const call = [invocationId, callId, name, status, responseJson(entry), actionsJson(entry)];
    const values = [...keyOf(lease), lease.epoch, ...call];
    const rows = await this.#run(this.#leases.recordToolCall, values);
    if (rows.length === 0) await this.#refused();
    return rows.length > 0;
  }

  async listToolCalls(key: SessionKey, invocationId: string): Promise<ToolLedgerEntry[]> {
    const rows = await this.#run(this.#reads.toolCalls, [...keyOf(key), invocationId]);
    return new StoredRows(key.appName, rows).toolCalls;
  }

  /** With the session's row locked, so that what is read is what the message follows. */
  async #beginLocked(run: RunStatement, begin: RunBegin): Promise<BeginOutcome> {
    const { appName, userId, sessionId, nowMs } = begin;
    const key = { appName, userId, sessionId };
    const pk = await this.#appender.lock(run, key);
    if (pk === undefined && begin.create) {
      await run(this.#sessions.insertSession, [...keyOf(key), nowMs]);
      // Another caller may have created it since.
      await this.#appender.lock(run, key);
    }
    const claimed = await this.#claim(run, begin, true);
    if (claimed?.status !== 'taken') return claimed ?? { status: 'busy', freeAtMs: nowMs };
    const { lease } = claimed;
    const { session: plain, narrowedSession } = this.#reads;
    const { session } = await this.#readWindow(run, key, begin.window, plain, narrowedSession);
    if (!session) return { status: 'missing' };
    const message = begin.message?.(this.#positions.get(lease.epoch)?.compactedUntil ?? -Infinity);
    if (!message) return { ...claimed, session, duplicate: undefined };
    const append = { ...key, incarnation: session.incarnation, ...message, nowMs, lease };
    return { ...claimed, session, duplicate: await this.#appender.appendMessage(run, append, lease) };
  }

  /**
   * Claims the lease. Undefined when that has to be tried with the session's row locked: a lease has expired, or it was free when the
   * statement began and somebody else took it while this one waited for the row.
   */
  async #claim(run: RunStatement, claim: LeaseClaim, isLocked: boolean): Promise<ClaimOutcome | undefined> {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver, invocationId, resumable, ticket } = claim;
    const place = ticket ? [ticket.id, ticket.sinceMs, nowMs + ticket.ttlMs] : [null, null, null];
    const wish = [nowMs, ttlMs, takeOver, invocationId ?? null, resumable];
    const values = [appName, userId, sessionId, ...wish, ...place, isLocked];
    const [row] = (await run(this.#leases.claim, values)) as readonly ClaimRow[];
    checkCurrent(Number(row?.version));
    if (!row || row.pk === null) return { status: 'missing' };
    if (row.epoch !== null) {
      const lease = { appName, userId, sessionId, epoch: Number(row.epoch), ttlMs };
      this.#positions.set(lease.epoch, row);
      return { status: 'taken', lease: invocationId === undefined ? lease : { ...lease, invocationId } };
    }
    const freeAtMs = Math.max(Number(row.held_until), Number(row.awaited_until));
    return !takeOver && freeAtMs > nowMs ? { status: 'busy', freeAtMs } : undefined;
  }

  /** Of a write that found nothing to write to. @throws ConfigurationError when a newer program made the tables its own */
  async #refused(): Promise<undefined> {
    await this.#database.checkVersion();
  }

  async #readWindow(
    run: RunStatement,
    key: SessionKey,
    { afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit }: EventWindow,
    plain: Statement,
    narrowed: Statement,
  ): Promise<StoredRows> {
    const values = [...keyOf(key), toInteger(afterSeq), toInteger(beforeSeq ?? Infinity), toInteger(limit ?? Infinity)];
    const isNarrow = sinceCompaction || afterTimestamp !== undefined;
    const rows = isNarrow
      ? await run(narrowed, [...values, afterTimestamp ?? null, sinceCompaction])
      : await run(plain, values);
    return new StoredRows(key.appName, rows);
  }
}

function keyOf({ appName, userId, sessionId }: SessionKey): [appName: string, userId: string, sessionId: string] {
  return [appName, userId, sessionId];
}

/** A number that fits into the integers of SQL: sequence numbers and limits beyond are as good as none. */
function toInteger(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
