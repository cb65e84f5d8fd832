import type { SessionKey, ToolLedgerEntry } from '@eventloom/core';
import {
  type EventWindow,
  type ListedSession,
  MAX_PAGE_CHARS,
  type SessionBackground,
  type SessionPage,
  type StoredEventWindow,
  type StoredSession,
} from '../session-driver.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { readStatements, type ReadStatements } from './read-statements.ts';
import { keyOf } from './session-sql.ts';
import { StoredRows } from './stored-rows.ts';

/** Reads of sessions, one statement each. */
export class PostgresReads {
  readonly #run: RunStatement;
  readonly #statements: ReadStatements;

  constructor({ tables, run }: PostgresDatabase) {
    this.#run = run;
    this.#statements = readStatements(tables);
  }

  /** @param run the function of a transaction, to read what the transaction has written */
  async readSession(
    key: SessionKey,
    window: EventWindow,
    run: RunStatement = this.#run,
  ): Promise<StoredSession | undefined> {
    const { session, narrowedSession } = this.#statements;
    const { isNarrowed, values } = windowValues(window);
    return new StoredRows(key.appName, await run(isNarrowed ? narrowedSession : session, [...keyOf(key), ...values]))
      .session;
  }

  async readEvents(key: SessionKey, window: EventWindow): Promise<StoredEventWindow | undefined> {
    const { oldestEvents, newestEvents, narrowedEvents } = this.#statements;
    const { isNarrowed, values } = windowValues(window);
    const page = window.limit === undefined ? oldestEvents : newestEvents;
    const rows = isNarrowed
      ? await this.#run(narrowedEvents, [...keyOf(key), ...values])
      : await this.#run(page, [...keyOf(key), ...values, MAX_PAGE_CHARS]);
    return new StoredRows(key.appName, rows).window;
  }

  async countWithin(key: SessionKey, window: EventWindow, maxBytes: number): Promise<number> {
    const { newestWithin, oldestWithin } = this.#statements;
    const { values } = windowValues({ ...window, sinceCompaction: false, afterTimestamp: undefined });
    const statement = window.limit === undefined ? oldestWithin : newestWithin;
    const [row] = (await this.#run(statement, [...keyOf(key), ...values, maxBytes])) as readonly {
      readonly count: unknown;
    }[];
    return Math.max(1, Number(row?.count));
  }

  async readBackground(key: SessionKey): Promise<SessionBackground | undefined> {
    const rows = new StoredRows(key.appName, await this.#run(this.#statements.background, keyOf(key)));
    const { session, initialState, toolCalls } = rows;
    return session && { ...session, initialState, toolCalls };
  }

  async listSessions({ appName, userId, limit, after }: SessionPage): Promise<ListedSession[]> {
    const start = after ? [after.updatedAtMs, after.sessionId, after.userId] : [Infinity, '', ''];
    const values = [appName, ...start, limit, MAX_PAGE_CHARS];
    const rows =
      userId === undefined
        ? await this.#run(this.#statements.sessionsOfApp, values)
        : await this.#run(this.#statements.sessionsOfUser, [...values, userId]);
    return new StoredRows(appName, rows).sessions;
  }

  async listToolCalls(key: SessionKey, invocationId: string): Promise<ToolLedgerEntry[]> {
    const rows = await this.#run(this.#statements.toolCalls, [...keyOf(key), invocationId]);
    return new StoredRows(key.appName, rows).toolCalls;
  }
}

/** Returns the parameters of a window, and whether it has conditions that need the narrowed statement. */
export function windowValues({ afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit }: EventWindow): {
  readonly isNarrowed: boolean;
  readonly values: unknown[];
} {
  const values = [toInteger(afterSeq), toInteger(beforeSeq ?? Infinity), toInteger(limit ?? Infinity)];
  if (!sinceCompaction && afterTimestamp === undefined) return { isNarrowed: false, values };
  return { isNarrowed: true, values: [...values, afterTimestamp ?? null, sinceCompaction] };
}

/** Returns a number that fits into the integers of SQL. Larger sequence numbers and limits select the same. */
function toInteger(count: number): number {
  return Math.min(count, Number.MAX_SAFE_INTEGER);
}
