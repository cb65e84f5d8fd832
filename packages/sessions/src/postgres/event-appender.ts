import type { SessionKey } from '@eventloom/core';
import type { AppendOutcome, EventAppend } from '../session-driver.ts';
import {
  appendStatement,
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

  /** One statement; a second one when it was refused, to say why; and a transaction when others append at the same time. */
  async append(append: EventAppend): Promise<AppendOutcome> {
    const { run } = this.#database;
    const statement = this.#append[changeOf(append)];
    const values = valuesOf(append);
    const tryOnce = async (on: RunStatement): Promise<AppendOutcome | undefined> => {
      const [row] = (await on(statement, values)) as readonly { readonly seq: unknown }[];
      return row ? { status: 'stored', seq: Number(row.seq) } : this.#refusalOf(append, on);
    };
    const outcome = await tryOnce(run);
    if (outcome) return outcome;
    // Another append came between. Under the lock none can, and none is refused without a reason.
    return this.#database.transaction(async (on) => {
      await this.lock(on, append);
      return (await tryOnce(on)) ?? { status: 'missing' };
    });
  }

  /** Keeps everybody else from writing to the session until the end of the transaction; its `pk`, undefined when it is not there. */
  async lock(run: RunStatement, { appName, userId, sessionId }: SessionKey): Promise<string | undefined> {
    const [row] = (await run(this.#lock, [appName, userId, sessionId])) as readonly { readonly pk: string }[];
    return row?.pk;
  }

  /** Why the append cannot be; undefined when it can by now. */
  async #refusalOf(append: EventAppend, run: RunStatement): Promise<AppendRefusal | undefined> {
    const { appName, userId, sessionId, incarnation, event, lease, nowMs } = append;
    const [row] = (await run(this.#refusal, [appName, userId, sessionId, event.id])) as readonly RefusalRow[];
    if (!row || row.pk !== incarnation) return { status: 'missing' };
    const leaseUntilMs = Number(row.lease_until);
    if (lease && !(leaseUntilMs > 0 && Number(row.epoch) === lease.epoch)) return { status: 'stale' };
    if (!lease && leaseUntilMs > nowMs) return { status: 'busy', freeAtMs: leaseUntilMs };
    if (row.event === null) return undefined;
    return { status: 'duplicate', event: parseEvent(row.event), lastSeq: Number(row.last_seq) };
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
