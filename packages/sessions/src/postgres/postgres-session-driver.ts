import {
  type KeepRunOpen,
  type OpenRun,
  type PutRunWebhookRequest,
  type RunRecord,
  type RunWebhook,
  type RunWebhookChange,
  type SessionKey,
  type SessionLease,
  StorageError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { ClaimOutcome, LeaseClaim } from '../lease-claim.ts';
import type {
  AppendCheck,
  AppendOutcome,
  BeginOutcome,
  CreatedSession,
  EventAppend,
  EventWindow,
  OpenRunPage,
  RecordChanges,
  RunClaim,
  RunEnd,
  RunWebhookPage,
  SessionBackground,
  SessionCreation,
  SessionDriver,
  SessionImport,
  SessionPage,
  StateEntry,
  StoredEventWindow,
  ListedSession,
  StoredSession,
} from '../session-driver.ts';
import { ToolCallBatches } from '../tool-call-batches.ts';
import { EventAppender } from './event-appender.ts';
import { codeOf, type PostgresDatabase } from './postgres-database.ts';
import { PostgresLeases } from './postgres-leases.ts';
import { PostgresReads } from './postgres-reads.ts';
import { PostgresRunStarts } from './postgres-run-starts.ts';
import { PostgresRunWebhooks } from './postgres-run-webhooks.ts';
import { SessionImporter } from './session-importer.ts';
import { keyOf } from './session-sql.ts';
import { type CreatedRow, sessionStatements, type SessionStatements } from './session-statements.ts';
import { toStateLists } from './stored-json.ts';
import { WriterPositions } from './writer-positions.ts';

/** Number of numbers of the statement `probe` for which PostgreSQL writes a file. */
const NUMBERS_OF_FILE = 4000;
/** The SQLSTATE of a statement whose temporary files would exceed `temp_file_limit`. */
const CONFIGURATION_LIMIT_EXCEEDED = '53400';

/**
 * Sessions in PostgreSQL. Every method is one statement, except those that delete and import, an append that has to wait, and a run that
 * begins without a message, with a webhook, or has to wait. Tool calls of the same moment share a statement.
 */
export class PostgresSessionDriver implements SessionDriver {
  readonly shared = true;
  readonly #database: PostgresDatabase;
  readonly #positions = new WriterPositions();
  readonly #sessions: SessionStatements;
  readonly #appender: EventAppender;
  readonly #importer: SessionImporter;
  readonly #reads: PostgresReads;
  readonly #leases: PostgresLeases;
  readonly #starts: PostgresRunStarts;
  readonly #webhooks: PostgresRunWebhooks;
  readonly #toolCalls = new ToolCallBatches((lease, entries) => this.#leases.recordToolCalls(lease, entries));

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#sessions = sessionStatements(database.tables);
    this.#appender = new EventAppender(database, this.#positions);
    this.#reads = new PostgresReads(database);
    this.#importer = new SessionImporter(database, this.#sessions, this.#reads);
    this.#leases = new PostgresLeases(database, this.#positions, this.#appender);
    this.#webhooks = new PostgresRunWebhooks(database);
    this.#starts = new PostgresRunStarts(database, {
      appender: this.#appender,
      webhooks: this.#webhooks,
      leases: this.#leases,
      reads: this.#reads,
      positions: this.#positions,
    });
  }

  async createSession(creation: SessionCreation): Promise<CreatedSession | undefined> {
    const { writes, nowMs } = creation;
    const values = [...keyOf(creation), nowMs, ...toStateLists(writes)];
    const rows = (await this.#database.run(this.#sessions.create, values)) as readonly CreatedRow[];
    const [made] = rows;
    if (!made) return this.#refused();
    const state = new Map<string, StateEntry>();
    for (const { kind, key, value } of rows) {
      if (key !== null) state.set(`${kind}:${key}`, { scope: kind, key, value: JSON.parse(value) as unknown });
    }
    for (const { scope, key, value } of structuredClone(writes)) state.set(`${scope}:${key}`, { scope, key, value });
    return { incarnation: made.pk, state: [...state.values()] };
  }

  readSession(key: SessionKey, window: EventWindow): Promise<StoredSession | undefined> {
    return this.#reads.readSession(key, window);
  }

  listSessions(page: SessionPage): Promise<ListedSession[]> {
    return this.#reads.listSessions(page);
  }

  readEvents(key: SessionKey, window: EventWindow): Promise<StoredEventWindow | undefined> {
    return this.#reads.readEvents(key, window);
  }

  countWithin(key: SessionKey, window: EventWindow, maxBytes: number): Promise<number> {
    return this.#reads.countWithin(key, window, maxBytes);
  }

  readBackground(key: SessionKey): Promise<SessionBackground | undefined> {
    return this.#reads.readBackground(key);
  }

  async importSession(session: SessionImport): Promise<CreatedSession | undefined> {
    return (await this.#importer.import(session)) ?? this.#refused();
  }

  /** Deletes a session whose row it has locked: without the lock, rows of a concurrent append would remain. */
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

  checkAppend(check: AppendCheck): Promise<void> {
    return this.#appender.check(check);
  }

  appendEvents(appends: readonly EventAppend[]): Promise<AppendOutcome[]> {
    return this.#appender.appendAll(appends);
  }

  beginRun(claim: RunClaim): Promise<BeginOutcome> {
    return this.#starts.begin(claim);
  }

  async endRun(end: RunEnd): Promise<AppendOutcome> {
    const outcome = await this.#appender.append(end, end);
    this.#positions.delete(end.lease.epoch);
    return outcome;
  }

  claimLease(claim: LeaseClaim): Promise<ClaimOutcome> {
    return this.#leases.claim(claim);
  }

  renewLease(lease: SessionLease, nowMs: number): Promise<boolean> {
    return this.#leases.renew(lease, nowMs);
  }

  releaseLease(lease: SessionLease, keepRunOpen: KeepRunOpen, changes?: RecordChanges): Promise<boolean> {
    return this.#leases.release(lease, keepRunOpen, changes);
  }

  withdrawTicket(key: SessionKey, ticketId: string): Promise<void> {
    return this.#leases.withdrawTicket(key, ticketId);
  }

  findRun(key: SessionKey, id: string): Promise<RunRecord | undefined> {
    return this.#leases.findRun(key, id);
  }

  cancelRequest(key: SessionKey, requestId: string): Promise<RunRecord | undefined> {
    return this.#leases.cancelRequest(key, requestId);
  }

  listOpenRuns(page: OpenRunPage): Promise<OpenRun[]> {
    return this.#leases.listOpenRuns(page);
  }

  putRunWebhook(webhook: PutRunWebhookRequest): Promise<boolean> {
    return this.#webhooks.put(webhook);
  }

  listRunWebhooks(page: RunWebhookPage): Promise<RunWebhook[]> {
    return this.#webhooks.list(page);
  }

  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): Promise<boolean> {
    return this.#webhooks.change(webhook, change);
  }

  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): Promise<boolean> {
    return this.#toolCalls.add(lease, entry);
  }

  listToolCalls(key: SessionKey, invocationId: string): Promise<ToolLedgerEntry[]> {
    return this.#reads.listToolCalls(key, invocationId);
  }

  /** Writes to a row that remains: removing it would need a second statement. */
  async checkWritable(): Promise<void> {
    const rows = await this.#database.run(this.#sessions.probe, [NUMBERS_OF_FILE]).catch((error: unknown) => {
      // The server allows no temporary files of this size, so its room for one is not tested.
      const isLimit = codeOf(StorageError.isInstance(error) && error.cause) === CONFIGURATION_LIMIT_EXCEEDED;
      if (isLimit) return this.#database.run(this.#sessions.probe, [0]);
      throw error;
    });
    if (rows.length === 0) await this.#refused();
  }

  /**
   * Checks why a write found no row.
   *
   * @throws ConfigurationError if a newer program migrated the tables
   */
  async #refused(): Promise<undefined> {
    await this.#database.checkVersion();
  }
}
