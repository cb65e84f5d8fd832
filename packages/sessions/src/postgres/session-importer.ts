import type { Event, SessionKey, StateWrite, ToolLedgerEntry } from '@eventloom/core';
import { compareText } from '../compare-text.ts';
import { ALL_EVENTS } from '../session-view.ts';
import type { CreatedSession, SessionImport } from '../session-driver.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import type { PostgresReads } from './postgres-reads.ts';
import type { SessionStatements } from './session-statements.ts';
import { actionsJson, compactionEnd, eventJson, responseJson, stateJson } from './stored-json.ts';

/** An event with the values of its row. */
interface EventRow {
  readonly seq: number;
  readonly event: Event;
  readonly highTimestamp: number;
  readonly compactedUntil: number | null;
  readonly json: string;
}

/** Stores whole sessions, each in one transaction, with many rows per statement. */
export class SessionImporter {
  readonly #database: PostgresDatabase;
  readonly #sessions: SessionStatements;
  readonly #reads: PostgresReads;

  constructor(database: PostgresDatabase, sessions: SessionStatements, reads: PostgresReads) {
    this.#database = database;
    this.#sessions = sessions;
    this.#reads = reads;
  }

  /** Stores a session. Returns undefined and changes nothing if its key is taken. */
  import(session: SessionImport): Promise<CreatedSession | undefined> {
    return this.#database.transaction(async (run) => {
      const pk = await this.#insertSession(run, session);
      if (pk === undefined) return undefined;
      await this.#addState(run, session, pk, session.state);
      await this.#addInitialState(run, session, pk);
      await this.#addEvents(run, pk, session);
      await this.#addToolCalls(run, pk, session.toolCalls);
      for (const batch of inBatches(session.runs, ({ id }) => id.length)) {
        const ids = [batch.map(({ id }) => id), batch.map(({ invocationId }) => invocationId)];
        await run(this.#sessions.addRuns, [pk, ...ids, batch.map(({ firstSeq }) => firstSeq)]);
      }
      await this.#addSharedState(run, session, pk);
      const stored = await this.#reads.readSession(session, { ...ALL_EVENTS, limit: 0 }, run);
      return { incarnation: pk, state: stored?.state ?? [] };
    });
  }

  async #insertSession(run: RunStatement, session: SessionImport): Promise<string | undefined> {
    const { appName, userId, sessionId, updatedAtMs } = session;
    const values = [appName, userId, sessionId, updatedAtMs];
    const [row] = (await run(this.#sessions.insertSession, values)) as readonly { readonly pk: string }[];
    return row?.pk;
  }

  /**
   * Adds the shared state as the last step: its keys are locked from here to the end of the transaction, and other
   * writers of them wait.
   */
  async #addSharedState(run: RunStatement, session: SessionImport, pk: string): Promise<void> {
    // The same lock order as in all writers, across batches too, so there is no deadlock.
    const shared = session.sharedState.toSorted(
      (one, other) => compareText(one.scope, other.scope) || compareText(one.key, other.key),
    );
    await this.#addState(run, session, pk, shared);
  }

  async #addState(run: RunStatement, key: SessionKey, pk: string, writes: readonly StateWrite[]): Promise<void> {
    const rows = writes.map((write) => ({ ...write, json: stateJson(write) }));
    for (const batch of inBatches(rows, ({ json }) => json.length)) {
      const lists = [batch.map(({ scope }) => scope), batch.map(({ key }) => key), batch.map(({ json }) => json)];
      await run(this.#sessions.addState, [key.appName, key.userId, pk, ...lists]);
    }
  }

  async #addInitialState(run: RunStatement, { initialState }: SessionImport, pk: string): Promise<void> {
    const rows = initialState.map((write) => ({ key: write.key, json: stateJson(write) }));
    for (const batch of inBatches(rows, ({ json }) => json.length)) {
      const lists = [batch.map(({ key }) => key), batch.map(({ json }) => json)];
      await run(this.#sessions.addInitialState, [pk, ...lists]);
    }
  }

  async #addEvents(run: RunStatement, pk: string, { events, updatedAtMs }: SessionImport): Promise<void> {
    for (const batch of inBatches(toRows(events), ({ json }) => json.length)) {
      await run(this.#sessions.addEvents, [
        pk,
        updatedAtMs,
        batch.map(({ seq }) => seq),
        batch.map(({ event }) => event.id),
        batch.map(({ event }) => event.timestamp),
        batch.map(({ highTimestamp }) => highTimestamp),
        batch.map(({ event }) => compactionEnd(event)),
        batch.map(({ compactedUntil }) => compactedUntil),
        batch.map(({ json }) => json),
      ]);
    }
  }

  async #addToolCalls(run: RunStatement, pk: string, calls: readonly ToolLedgerEntry[]): Promise<void> {
    const rows = calls.map((call) => ({ ...call, json: responseJson(call), actionsJson: actionsJson(call) }));
    const sizeOf = ({ json, actionsJson }: (typeof rows)[number]): number =>
      (json?.length ?? 0) + (actionsJson?.length ?? 0);
    for (const batch of inBatches(rows, sizeOf)) {
      await run(this.#sessions.addToolCalls, [
        pk,
        batch.map(({ invocationId }) => invocationId),
        batch.map(({ entryId }) => entryId),
        batch.map(({ name }) => name),
        batch.map(({ status }) => status),
        batch.map(({ json }) => json),
        batch.map((row) => row.actionsJson),
      ]);
    }
  }
}

/** Yields rows one by one, so that the JSON of a long history is never in memory as a whole. */
function* toRows(events: readonly Event[]): Generator<EventRow> {
  let highTimestamp = -Infinity;
  let compactedUntil: number | null = null;
  for (const [index, event] of events.entries()) {
    highTimestamp = Math.max(highTimestamp, event.timestamp);
    const end = compactionEnd(event);
    if (end !== null) compactedUntil = Math.max(compactedUntil ?? end, end);
    yield { seq: index + 1, event, highTimestamp, compactedUntil, json: eventJson(event) };
  }
}

/** Maximum number of items of a batch, which is also limited by its text. */
const MAX_ITEMS = 1000;
const FULL = 4 * 1024 * 1024;

/** Yields items in order, in batches that are each sent at once. An item larger than a batch is sent alone. */
function* inBatches<T>(items: Iterable<T>, sizeOf: (item: T) => number): Generator<T[]> {
  let batch: T[] = [];
  let size = 0;
  for (const item of items) {
    batch.push(item);
    size += sizeOf(item);
    if (batch.length < MAX_ITEMS && size < FULL) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}
