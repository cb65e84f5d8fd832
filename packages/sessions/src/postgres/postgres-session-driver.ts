import type {
  LeaveOpen,
  OpenRun,
  OpenRunState,
  PutRunWebhookRequest,
  RunRecord,
  RunWebhook,
  RunWebhookChange,
  SessionKey,
  SessionLease,
  ToolLedgerEntry,
} from '@eventloom/core';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim } from '../lease-claim.ts';
import type {
  AppendOutcome,
  BeginOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  OpenRunPage,
  RecordChanges,
  RunBegin,
  RunEnd,
  RunRefusal,
  RunWebhookPage,
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
import { changeOf, EventAppender, eventValues, outcomeValues, releaseValues, stateValues } from './event-appender.ts';
import {
  type ClaimRow,
  leaseStatements,
  type LeaseStatements,
  type OpenRunRow,
  type RunClaimRow,
  type RunRow,
} from './lease-statements.ts';
import type { StateChange } from './append-statement.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { readStatements, type ReadStatements } from './read-statements.ts';
import { type RunTaken, toEnd } from '../session-hold.ts';
import { checkCurrent } from './schema-version.ts';
import { SessionImporter } from './session-importer.ts';
import { type CreatedRow, sessionStatements, type SessionStatements } from './session-statements.ts';
import type { Statement } from './statement.ts';
import { actionsJson, responseJson, toStateLists } from './stored-json.ts';
import { StoredRows } from './stored-rows.ts';
import { webhookStatements, type WebhookRow, type WebhookStatements } from './webhook-statements.ts';
import { WriterPositions } from './writer-positions.ts';

type RunRowOutcome = ClaimRefusal | RunRefusal | RunTaken;

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
  readonly #webhooks: WebhookStatements;

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
    this.#webhooks = webhookStatements(tables);
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
    const rows = await this.#run(this.#leases.renew, [
      ...keyOf(lease),
      lease.epoch,
      ...this.#database.clockValues(nowMs),
    ]);
    if (rows.length === 0) await this.#refused();
    return rows.length > 0;
  }

  async releaseLease(lease: SessionLease, leaveOpen: LeaveOpen, changes?: RecordChanges): Promise<void> {
    this.#positions.delete(lease.epoch);
    const values = releaseValues(lease, leaveOpen);
    if (!changes) await this.#run(this.#leases.release, values);
    else await this.#run(this.#leases.releaseAndRecord, [...values, ...outcomeValues(changes), changes.forget ?? []]);
  }

  async findRun(key: SessionKey, id: string): Promise<RunRecord | undefined> {
    const nowMs = this.#database.nowMs;
    const values = [...keyOf(key), id, ...this.#database.clockValues(nowMs)];
    const [row] = (await this.#run(this.#leases.findRun, values)) as readonly RunRow[];
    if (!row) return undefined;
    const record = { invocationId: row.invocation_id, firstSeq: Number(row.first_seq) };
    if (row.is_open) return { ...record, open: openStateOf(row, nowMs) };
    const { outcome: state, code, last_seq: lastSeq } = row;
    return state === null ? record : { ...record, end: toEnd({ state, code: code ?? undefined }, Number(lastSeq)) };
  }

  async withdrawTicket(key: SessionKey, ticketId: string): Promise<void> {
    await this.#run(this.#leases.withdrawTicket, [...keyOf(key), ticketId]);
  }

  async listOpenRuns({ appName, limit, after }: OpenRunPage): Promise<OpenRun[]> {
    const nowMs = this.#database.nowMs;
    const values = [appName, after?.userId ?? '', after?.sessionId ?? '', limit, ...this.#database.clockValues(nowMs)];
    const rows = (await this.#run(this.#leases.openRuns, values)) as readonly OpenRunRow[];
    return rows.map((row) => ({
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      invocationId: row.open_run,
      ...openStateOf(row, nowMs),
    }));
  }

  async putRunWebhook({ id, invocationId, url, ...key }: PutRunWebhookRequest): Promise<boolean> {
    const rows = await this.#run(this.#webhooks.put, [...keyOf(key), id, invocationId, url]);
    if (rows.length === 0) await this.#refused();
    return rows.length > 0;
  }

  async listRunWebhooks({ appName, userId, includeOpen, limit }: RunWebhookPage): Promise<RunWebhook[]> {
    const values = [appName, userId ?? null, includeOpen, limit];
    const rows = (await this.#run(this.#webhooks.list, values)) as readonly WebhookRow[];
    return rows.map((row) => ({
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      id: row.id,
      invocationId: row.invocation_id,
      url: row.url,
      attempts: row.attempts,
      dueMs: Number(row.due_at),
    }));
  }

  async changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): Promise<boolean> {
    const values = [...keyOf(webhook), webhook.id, webhook.attempts, webhook.dueMs];
    const rows = change
      ? await this.#run(this.#webhooks.change, [...values, change.attempts, change.dueMs])
      : await this.#run(this.#webhooks.remove, values);
    if (rows.length === 0) await this.#refused();
    return rows.length > 0;
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
    const [row] = (await this.#run(this.#leases.refuseAgain, values)) as readonly { readonly free_in: unknown }[];
    return row && { status: 'busy', freeAtMs: nowMs + Number(row.free_in) };
  }

  /** In one statement. Undefined when the run has to begin under the lock. */
  async #beginWith(begin: RunBegin, toMessage: RunBegin['message'] & {}): Promise<BeginOutcome | undefined> {
    const message = toMessage(-Infinity);
    const { isNarrowed, values: window } = windowValues(begin.window);
    const statement = this.#begins[isNarrowed ? 'narrowed' : 'plain'][changeOf(message)];
    const event = [...eventValues(message), begin.create];
    const values = [...claimValues(begin), ...runValues(begin), ...event, ...window, ...stateValues(message)];
    const { claim, session } = new StoredRows(begin.appName, await this.#run(statement, values));
    const claimed = this.#toRunOutcome(begin, claim, session && session.lastSeq + 1);
    if (claimed?.status === 'missing' && begin.create) return undefined;
    if (claimed?.status !== 'taken') return claimed;
    return session && { ...claimed, session, duplicate: undefined };
  }

  /** In two statements. Undefined when the session has to be created. */
  async #beginWithoutMessage(begin: RunBegin): Promise<BeginOutcome | undefined> {
    let claimed = await this.#claimForRun(this.#run, begin, false);
    while (!claimed) {
      claimed = await this.#database.transaction(async (run) => {
        await this.#appender.lock(run, begin);
        return this.#claimForRun(run, begin, true);
      });
    }
    if (claimed.status === 'missing' && begin.create) return undefined;
    if (claimed.status !== 'taken') return claimed;
    const session = await this.readSession(begin, begin.window);
    return session ? { ...claimed, session, duplicate: undefined } : { status: 'missing' };
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
    const claimed = await this.#claimForRun(run, begin, true);
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

  /** Claims the lease for a run, like `#claim`. */
  async #claimForRun(run: RunStatement, begin: RunBegin, isLocked: boolean): Promise<RunRowOutcome | undefined> {
    const values = [...claimValues(begin), ...runValues(begin), isLocked];
    const [row] = (await run(this.#leases.claimForRun, values)) as readonly RunClaimRow[];
    return this.#toRunOutcome(begin, row, Number(row?.seq) + 1);
  }

  /** Undefined when the lease was not given although nobody holds the session or waits for it. */
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

  /** @param nextSeq the number of the session's next event */
  #toRunOutcome(begin: RunBegin, row: RunClaimRow | undefined, nextSeq: number | undefined): RunRowOutcome | undefined {
    const { appName, userId, sessionId, invocationId, continues } = begin;
    const outcome = this.#toOutcome(begin, row);
    if (!row || outcome?.status === 'missing') return { status: 'missing' };
    if (outcome?.status === 'taken') {
      const firstSeq = Number(row.first_seq ?? nextSeq);
      const lease = { ...outcome.lease, invocationId };
      return { status: 'taken', lease, firstSeq, wasOpen: row.open_run === invocationId };
    }
    if (row.known_as !== null) return { status: 'known', invocationId: row.known_as };
    if (continues && row.first_seq === null) return { status: 'unknown' };
    if (outcome || row.open_run === null || row.open_run === invocationId) return outcome;
    const run = { appName, userId, sessionId, invocationId: row.open_run, ...openStateOf(row, begin.nowMs) };
    return { status: 'open', run };
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
function claimValues({ nowMs, ttlMs, takeOver, ticket, ...key }: LeaseClaim): unknown[] {
  const place = ticket ? [ticket.id, ticket.sinceMs, nowMs + ticket.ttlMs] : [null, null, null];
  return [...keyOf(key), nowMs, ttlMs, takeOver, ...place];
}

/** The parameters of a run, behind those of its claim. */
function runValues({ invocationId, resumable, requestId, continues }: RunBegin): unknown[] {
  return [invocationId, resumable, requestId ?? null, continues];
}

/** @param nowMs by the clock of this process, which `heldUntilMs` is of */
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
