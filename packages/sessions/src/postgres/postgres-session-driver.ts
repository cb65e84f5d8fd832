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
import { beginStatement } from './begin-statement.ts';
import { changeOf, EventAppender, eventValues, releaseValues, stateValues } from './event-appender.ts';
import { type ClaimRow, leaseStatements, type LeaseStatements, type OpenRunRow } from './lease-statements.ts';
import type { StateChange } from './append-statement.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { readStatements, type ReadStatements } from './read-statements.ts';
import { checkCurrent } from './schema-version.ts';
import { SessionImporter } from './session-importer.ts';
import { type CreatedRow, sessionStatements, type SessionStatements } from './session-statements.ts';
import type { Statement } from './statement.ts';
import { actionsJson, responseJson, toStateLists } from './stored-json.ts';
import { StoredRows } from './stored-rows.ts';
import { WriterPositions } from './writer-positions.ts';

/**
 * Sessions in PostgreSQL. Every method is one statement, but those that delete and import, an append that has to wait, and a run that
 * begins without a message or has to wait.
 */
export class PostgresSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #positions = new WriterPositions();
  readonly #appender: EventAppender;
  readonly #importer: SessionImporter;
  readonly #begins: Readonly<Record<'plain' | 'narrowed', Readonly<Record<StateChange, Statement>>>>;
  readonly #leases: LeaseStatements;
  readonly #reads: ReadStatements;
  readonly #sessions: SessionStatements;

  constructor(database: PostgresDatabase) {
    const { tables, run } = database;
    this.#database = database;
    this.#run = run;
    this.#appender = new EventAppender(database, this.#positions);
    const begins = (isNarrowed: boolean) => ({
      none: beginStatement(tables, 'none', isNarrowed),
      sets: beginStatement(tables, 'sets', isNarrowed),
      removes: beginStatement(tables, 'removes', isNarrowed),
    });
    this.#begins = { plain: begins(false), narrowed: begins(true) };
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
    const outcome = begin.message
      ? ((await this.#refuseAgain(begin)) ?? (await this.#beginWith(begin, begin.message)))
      : await this.#beginWithoutMessage(begin);
    return outcome ?? this.#database.transaction((run) => this.#beginLocked(run, begin));
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

  /**
   * Refuses a run that waits in line, as most polls are, without sending its message. Undefined when it may begin or has to write its
   * ticket.
   */
  async #refuseAgain({ ticket, nowMs, ...key }: RunBegin): Promise<BeginOutcome | undefined> {
    if (!ticket) return undefined;
    const values = [...keyOf(key), nowMs, ticket.id, ticket.sinceMs, nowMs + ticket.ttlMs];
    const [row] = (await this.#run(this.#leases.refuseAgain, values)) as readonly { readonly free_at: unknown }[];
    return row && { status: 'busy', freeAtMs: Number(row.free_at) };
  }

  /** In one statement. Undefined when the run has to begin under the lock. */
  async #beginWith(begin: RunBegin, toMessage: RunBegin['message'] & {}): Promise<BeginOutcome | undefined> {
    const message = toMessage(-Infinity);
    const { isNarrowed, values: window } = windowValues(begin.window);
    const statement = this.#begins[isNarrowed ? 'narrowed' : 'plain'][changeOf(message)];
    const event = [...eventValues(message), begin.create];
    const values = [...claimValues(begin), ...event, ...window, ...stateValues(message)];
    const { claim, session } = new StoredRows(begin.appName, await this.#run(statement, values));
    const claimed = this.#toOutcome(begin, claim);
    if (claimed?.status === 'taken' && session) return { ...claimed, session, duplicate: undefined };
    if (claimed?.status === 'busy') return claimed;
    return claimed && !begin.create ? { status: 'missing' } : undefined;
  }

  /** In two statements. Undefined when the session has to be created. */
  async #beginWithoutMessage(begin: RunBegin): Promise<BeginOutcome | undefined> {
    const claimed = await this.claimLease(begin);
    const session = claimed.status === 'taken' ? await this.readSession(begin, begin.window) : undefined;
    if (claimed.status === 'taken' && session) return { ...claimed, session, duplicate: undefined };
    if (claimed.status === 'busy') return claimed;
    return begin.create ? undefined : { status: 'missing' };
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
    const [row] = (await run(this.#leases.claim, [...claimValues(claim), isLocked])) as readonly ClaimRow[];
    return this.#toOutcome(claim, row);
  }

  /** Undefined when the lease was not given although nobody holds the session or waits for it. */
  #toOutcome(claim: LeaseClaim, row: ClaimRow | undefined): ClaimOutcome | undefined {
    const { appName, userId, sessionId, nowMs, ttlMs, takeOver, invocationId } = claim;
    checkCurrent(Number(row?.version));
    if (row && row.epoch !== null) {
      const lease = { appName, userId, sessionId, epoch: Number(row.epoch), ttlMs };
      this.#positions.set(lease.epoch, row);
      return { status: 'taken', lease: invocationId === undefined ? lease : { ...lease, invocationId } };
    }
    if (!row || row.pk === null) return { status: 'missing' };
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
    window: EventWindow,
    plain: Statement,
    narrowed: Statement,
  ): Promise<StoredRows> {
    const { isNarrowed, values } = windowValues(window);
    return new StoredRows(key.appName, await run(isNarrowed ? narrowed : plain, [...keyOf(key), ...values]));
  }
}

function keyOf({ appName, userId, sessionId }: SessionKey): [appName: string, userId: string, sessionId: string] {
  return [appName, userId, sessionId];
}

/** The parameters of a claim; those of its ticket are null without one. */
function claimValues({ nowMs, ttlMs, takeOver, invocationId, resumable, ticket, ...key }: LeaseClaim): unknown[] {
  const place = ticket ? [ticket.id, ticket.sinceMs, nowMs + ticket.ttlMs] : [null, null, null];
  return [...keyOf(key), nowMs, ttlMs, takeOver, invocationId ?? null, resumable, ...place];
}

/** The parameters of a window, and whether it has conditions that need the narrowed statement. */
function windowValues({ afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit }: EventWindow): {
  readonly isNarrowed: boolean;
  readonly values: unknown[];
} {
  const values = [toInteger(afterSeq), toInteger(beforeSeq ?? Infinity), toInteger(limit ?? Infinity)];
  if (!sinceCompaction && afterTimestamp === undefined) return { isNarrowed: false, values };
  return { isNarrowed: true, values: [...values, afterTimestamp ?? null, sinceCompaction] };
}

/** A number that fits into the integers of SQL: sequence numbers and limits beyond are as good as none. */
function toInteger(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
