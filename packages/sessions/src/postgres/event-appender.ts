import type { SessionKey } from '@eventloom/core';
import type { AppendOutcome, EventAppend } from '../session-driver.ts';
import {
  appendStatement,
  EVENT_IDS,
  lockStatement,
  type RefusalRow,
  refusalStatement,
  type StateChange,
} from './append-statement.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import type { Statement } from './statement.ts';
import { compactionEnd, eventJson, toStateLists } from './stored-json.ts';
import { parseEvent } from './stored-rows.ts';

type AppendRefusal = Exclude<AppendOutcome, { status: 'stored' }>;

/** Appends events. */
export class EventAppender {
  readonly #database: PostgresDatabase;
  readonly #append: Readonly<Record<StateChange, Statement>>;
  readonly #refusal: Statement;
  readonly #lock: Statement;

  constructor(database: PostgresDatabase) {
    const { tables } = database;
    this.#database = database;
    this.#append = {
      none: appendStatement(tables, 'none'),
      sets: appendStatement(tables, 'sets'),
      removes: appendStatement(tables, 'removes'),
    };
    this.#refusal = refusalStatement(tables);
    this.#lock = lockStatement(tables);
  }

  /** One statement; a second one when it was refused, to say why; and a transaction when it could be the second time. */
  async append(append: EventAppend): Promise<AppendOutcome> {
    const statement = this.#append[changeOf(append)];
    const values = valuesOf(append);
    for (let isLocked = false; ; isLocked = true) {
      const seq = await unlessDuplicate(() => {
        if (!isLocked) return firstSeq(this.#database.run, statement, values);
        return this.#database.transaction(async (run) => {
          await this.lock(run, append);
          return firstSeq(run, statement, values);
        });
      });
      if (seq !== undefined) return { status: 'stored', seq };
      const refusal = await this.#refusalOf(append);
      if (refusal) return refusal;
      // Another append came between, or the session has become free. Under the lock no other comes.
    }
  }

  /** Keeps everybody else from writing to the session until the end of the transaction; its `pk`, undefined when it is not there. */
  async lock(run: RunStatement, { appName, userId, sessionId }: SessionKey): Promise<string | undefined> {
    const [row] = (await run(this.#lock, [appName, userId, sessionId])) as readonly { readonly pk: string }[];
    return row?.pk;
  }

  /** Why the append cannot be; undefined when it can by now. */
  async #refusalOf(append: EventAppend): Promise<AppendRefusal | undefined> {
    const { appName, userId, sessionId, incarnation, event, lease, nowMs } = append;
    const key = [appName, userId, sessionId, event.id];
    const [row] = (await this.#database.run(this.#refusal, key)) as readonly RefusalRow[];
    if (!row || row.pk !== incarnation) return { status: 'missing' };
    const leaseUntilMs = Number(row.lease_until);
    if (lease && !(leaseUntilMs > 0 && Number(row.epoch) === lease.epoch)) return { status: 'stale' };
    if (!lease && leaseUntilMs > nowMs) return { status: 'busy', freeAtMs: leaseUntilMs };
    if (row.event === null) return undefined;
    return { status: 'duplicate', event: parseEvent(row.event), lastSeq: Number(row.last_seq) };
  }
}

async function firstSeq(run: RunStatement, statement: Statement, values: unknown[]): Promise<number | undefined> {
  const [row] = (await run(statement, values)) as readonly { readonly seq: unknown }[];
  return row && Number(row.seq);
}

/** Undefined when the session has an event of this id: what was begun is undone. */
async function unlessDuplicate(append: () => Promise<number | undefined>): Promise<number | undefined> {
  try {
    return await append();
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'constraint' in error && error.constraint === EVENT_IDS)
      return undefined;
    throw error;
  }
}

function changeOf({ writes }: EventAppend): StateChange {
  if (writes.length === 0) return 'none';
  return writes.some(({ value }) => value === undefined) ? 'removes' : 'sets';
}

function valuesOf(append: EventAppend): unknown[] {
  const { appName, userId, sessionId, incarnation, event, writes, nowMs, lease } = append;
  return [
    appName,
    userId,
    sessionId,
    incarnation,
    event.id,
    event.timestamp,
    compactionEnd(event),
    eventJson(event),
    nowMs,
    lease ? lease.epoch : null,
    lease ? nowMs + lease.ttlMs : 0,
    ...(writes.length > 0 ? toStateLists(writes) : []),
  ];
}
