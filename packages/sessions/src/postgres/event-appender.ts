import type { Event, KeepRunOpen, SessionKey, SessionLease } from '@eventloom/core';
import { staleError, UNDONE } from '../errors.ts';
import type { AppendCheck, AppendOutcome, EventAppend, RecordChanges, RunEnd, RunMessage } from '../session-driver.ts';
import {
  appendStatement,
  endLeaseStatement,
  lockStatement,
  type RefusalRow,
  refusalStatement,
  type StateChange,
} from './append-statement.ts';
import { leaseStatements } from './lease-statements.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { checkCurrent } from './schema-version.ts';
import type { Statement } from './statement.ts';
import { compactionEnd, eventJson, toStateLists } from './stored-json.ts';
import { readStoredEvent } from './stored-rows.ts';
import type { PositionRow, WriterPosition, WriterPositions } from './writer-positions.ts';

type AppendRefusal = Exclude<AppendOutcome, { status: 'stored' }>;

/** Appends events to sessions. */
export class EventAppender {
  readonly #database: PostgresDatabase;
  readonly #positions: WriterPositions;
  readonly #append: Readonly<Record<StateChange, Statement>>;
  readonly #appendLast: Readonly<Record<StateChange, Statement>>;
  readonly #release: Statement;
  readonly #refusal: Statement;
  readonly #lock: Statement;
  readonly #endLease: Statement;

  constructor(database: PostgresDatabase, positions: WriterPositions) {
    const { tables } = database;
    this.#database = database;
    this.#positions = positions;
    this.#append = {
      none: appendStatement(tables, 'none'),
      sets: appendStatement(tables, 'sets'),
      removes: appendStatement(tables, 'removes'),
    };
    this.#appendLast = {
      none: appendStatement(tables, 'none', true),
      sets: appendStatement(tables, 'sets', true),
      removes: appendStatement(tables, 'removes', true),
    };
    this.#release = leaseStatements(tables).releaseAndRecord;
    this.#refusal = refusalStatement(tables);
    this.#lock = lockStatement(tables);
    this.#endLease = endLeaseStatement(tables);
  }

  /**
   * Appends an event with one statement. If the append is refused, a second statement finds the reason. If there is no reason, because
   * another append came first or a lease has expired, the append is repeated in a transaction.
   */
  async append(append: EventAppend, end?: RunEnd): Promise<AppendOutcome> {
    const { lease } = append;
    const statements = end ? this.#appendLast : this.#append;
    const insertion = { statement: statements[changeOf(append)], values: valuesOf(append, end) };
    for (;;) {
      const position = lease && this.#positions.get(lease.epoch);
      const seq = await this.#insert(this.#database.run, insertion, lease, false, position);
      if (seq !== undefined) return { status: 'stored', seq };
      const refusal = await this.#refuse(this.#database.run, append, end, position);
      if (refusal) return refusal;
      const outcome = await this.#database.transaction((run) =>
        this.#appendLocked(run, append, end, insertion, position),
      );
      if (outcome) return outcome;
    }
  }

  /** Appends an event, even if its session is locked, and rolls that back. @throws SizeLimitError */
  async check(check: AppendCheck): Promise<void> {
    try {
      await this.#database.transaction(async (run) => {
        const incarnation = await this.lock(run, check);
        if (incarnation === undefined) throw UNDONE;
        const append = { ...check, incarnation, lease: undefined };
        const insertion = { statement: this.#append[changeOf(append)], values: valuesOf(append) };
        await this.#insert(run, insertion, undefined, true);
        throw UNDONE;
      });
    } catch (error) {
      if (error !== UNDONE) throw error;
    }
  }

  /** Appends events of one session under one lease, in one transaction. */
  async appendAll(appends: readonly EventAppend[]): Promise<AppendOutcome[]> {
    const [first] = appends;
    if (!first?.lease) return [];
    const insertions = appends.map((append) => ({
      append,
      insertion: { statement: this.#append[changeOf(append)], values: valuesOf(append) },
    }));
    const { epoch } = first.lease;
    const position = this.#positions.get(epoch);
    const { outcomes, last } = await this.#database.transaction(async (run) => {
      await this.lock(run, first);
      const done: AppendOutcome[] = [];
      let stored: PositionRow | undefined;
      for (const { append, insertion } of insertions) {
        const refusal = await this.#refusalOf(run, append, false, position);
        const [row] = refusal
          ? []
          : ((await run(insertion.statement, insertion.values(true))) as readonly PositionRow[]);
        stored = row ?? stored;
        const outcome: AppendOutcome =
          refusal ?? (row ? { status: 'stored', seq: Number(row.seq) } : { status: 'stale' });
        done.push(outcome);
        if (outcome.status !== 'stored' && outcome.status !== 'duplicate') break;
      }
      return { outcomes: done, last: stored };
    });
    // The position of the lease is not valid before the commit.
    if (last) this.#positions.set(epoch, last);
    return outcomes;
  }

  /**
   * Prevents other writes to the session until the end of the transaction. Returns its `pk`; undefined if the session
   * does not exist.
   */
  async lock(run: RunStatement, { appName, userId, sessionId }: SessionKey): Promise<string | undefined> {
    const [row] = (await run(this.#lock, [appName, userId, sessionId])) as readonly { readonly pk: string }[];
    return row?.pk;
  }

  async #appendLocked(
    run: RunStatement,
    append: EventAppend,
    end: RunEnd | undefined,
    insertion: Insertion,
    position: WriterPosition | undefined,
  ): Promise<AppendOutcome | undefined> {
    await this.lock(run, append);
    const refusal = await this.#refuse(run, append, end, position);
    if (refusal) return refusal;
    const { appName, userId, sessionId, lease } = append;
    const seq = await this.#insert(run, insertion, lease, true);
    if (seq === undefined) return undefined;
    if (!lease) await run(this.#endLease, [appName, userId, sessionId]);
    return { status: 'stored', seq };
  }

  /**
   * Appends the first event of a run, inside a transaction that has granted the lease.
   *
   * @returns the stored event of this id if there is one; then nothing is appended
   */
  async appendMessage(run: RunStatement, append: EventAppend, lease: SessionLease): Promise<Event | undefined> {
    const insertion = { statement: this.#append[changeOf(append)], values: valuesOf(append) };
    const position = this.#positions.get(lease.epoch);
    const seq = await this.#insert(run, insertion, lease, false, position);
    if (seq !== undefined) return undefined;
    const refusal = await this.#refusalOf(run, append, true);
    if (refusal?.status !== 'duplicate') throw staleError(lease);
    return refusal.event;
  }

  /** Returns the event's number; undefined if it was not stored. */
  async #insert(
    run: RunStatement,
    { statement, values }: Insertion,
    lease: SessionLease | undefined,
    isExpired: boolean,
    position?: WriterPosition,
  ): Promise<number | undefined> {
    const [row] = (await run(statement, values(isExpired, position))) as readonly PositionRow[];
    if (row && lease) this.#positions.set(lease.epoch, row);
    return row && Number(row.seq);
  }

  /** Returns the refusal like `#refusalOf`, and releases the lease of a run whose last event is already stored. */
  async #refuse(
    run: RunStatement,
    append: EventAppend,
    end: RunEnd | undefined,
    position: WriterPosition | undefined,
  ): Promise<AppendRefusal | undefined> {
    const refusal = await this.#refusalOf(run, append, end !== undefined, position);
    if (end && refusal?.status === 'duplicate')
      await run(this.#release, [...releaseValues(end.lease, end.keepRunOpen), ...outcomeValues(end), []]);
    return refusal;
  }

  /**
   * Returns the reason why the append is refused; undefined if it is possible now.
   *
   * @param isLast true for the last event of a run, which is looked up before the lease
   * @param position the position of the lease, if it is known: an append over a gap is refused
   * @throws ConfigurationError if the tables have another version
   */
  async #refusalOf(
    run: RunStatement,
    append: EventAppend,
    isLast: boolean,
    position?: WriterPosition,
  ): Promise<AppendRefusal | undefined> {
    const { appName, userId, sessionId, incarnation, event, lease, nowMs } = append;
    const { seq = null, eventId = null } = position ?? {};
    const values = [appName, userId, sessionId, event.id, seq, eventId, ...this.#database.clockValues(nowMs)];
    const [row] = (await run(this.#refusal, values)) as readonly RefusalRow[];
    checkCurrent(Number(row?.version));
    if (!row || row.pk !== incarnation) return { status: 'missing' };
    const isLive = Number(row.lease_until) > 0 && Number(row.epoch) === lease?.epoch;
    const isStale = lease && !(isLive && row.has_position);
    if (isStale && !(isLast && row.event !== null)) return { status: 'stale' };
    const leftMs = Number(row.held_until) - Number(row.now);
    if (!lease && leftMs > 0) return { status: 'busy', freeAtMs: nowMs + leftMs };
    if (row.event === null) return undefined;
    return { status: 'duplicate', event: readStoredEvent(row.event), lastSeq: Number(row.last_seq) };
  }
}

/**
 * An append as SQL. The parameters depend on whether the lease is known to have expired, and on the position of the
 * last event, if known.
 */
interface Insertion {
  readonly statement: Statement;
  readonly values: (isExpired: boolean, position?: WriterPosition) => unknown[];
}

/** Returns the kind of statement that a message or an append needs. */
export function changeOf({ writes }: RunMessage): StateChange {
  if (writes.length === 0) return 'none';
  return writes.some(({ value }) => value === undefined) ? 'removes' : 'sets';
}

/** Returns the parameters that release a lease. */
export function releaseValues(lease: SessionLease, keepRunOpen: KeepRunOpen): unknown[] {
  const { appName, userId, sessionId, epoch } = lease;
  return [appName, userId, sessionId, epoch, ...releaseParts(lease, keepRunOpen)];
}

/** Returns the parameters of a run's outcome. */
export function outcomeValues({ outcome }: RecordChanges): unknown[] {
  return [outcome?.state ?? null, outcome?.code ?? null];
}

function releaseParts({ invocationId }: SessionLease, keepRunOpen: KeepRunOpen): unknown[] {
  return [invocationId ?? null, keepRunOpen !== false, keepRunOpen === 'without-attempt'];
}

/**
 * Returns the parameters of an event.
 *
 * @throws SizeLimitError
 */
export function eventValues({ event }: RunMessage): unknown[] {
  return [event.id, event.timestamp, compactionEnd(event), eventJson(event)];
}

/**
 * Returns the parameters of an event's state; empty if it writes none.
 *
 * @throws SizeLimitError
 */
export function stateValues({ writes }: RunMessage): readonly unknown[] {
  return writes.length > 0 ? toStateLists(writes) : [];
}

function valuesOf(append: EventAppend, end?: RunEnd): Insertion['values'] {
  const { appName, userId, sessionId, incarnation, nowMs, lease } = append;
  const key = [appName, userId, sessionId, incarnation];
  const row = [...eventValues(append), nowMs, lease ? lease.epoch : null];
  const lists = stateValues(append);
  const release = end ? [...releaseParts(end.lease, end.keepRunOpen), ...outcomeValues(end)] : [];
  return (isExpired, position) => {
    const { seq = null, eventId = null, highTimestamp = null, compactedUntil = null } = position ?? {};
    return [...key, ...row, isExpired, seq, eventId, highTimestamp, compactedUntil, ...release, ...lists];
  };
}
