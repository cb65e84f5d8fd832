import type { BeginOutcome, RunBegin } from '../session-driver.ts';
import type { StateChange } from './append-statement.ts';
import { beginStatement } from './begin-statement.ts';
import { changeOf, type EventAppender, eventValues, stateValues } from './event-appender.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { claimValues, type PostgresLeases, runValues } from './postgres-leases.ts';
import { type PostgresReads, windowValues } from './postgres-reads.ts';
import type { PostgresRunWebhooks } from './postgres-run-webhooks.ts';
import { keyOf } from './session-sql.ts';
import { sessionStatements } from './session-statements.ts';
import type { Statement } from './statement.ts';
import { StoredRows } from './stored-rows.ts';
import type { WriterPositions } from './writer-positions.ts';

/** The parts of the driver that begin a run. */
export interface BeginParts {
  readonly appender: EventAppender;
  readonly leases: PostgresLeases;
  readonly reads: PostgresReads;
  readonly webhooks: PostgresRunWebhooks;
  readonly positions: WriterPositions;
}

/**
 * Begins runs: in one statement with a message, in two without one, and in a transaction if the run has a webhook or
 * the session's row must be locked.
 */
export class PostgresRunBegins {
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #parts: BeginParts;
  readonly #insertSession: Statement;
  readonly #begins: Readonly<Record<'plain' | 'narrowed', Readonly<Record<StateChange, Statement>>>>;

  constructor(database: PostgresDatabase, parts: BeginParts) {
    const { tables, run } = database;
    this.#database = database;
    this.#run = run;
    this.#parts = parts;
    this.#insertSession = sessionStatements(tables).insertSession;
    const begins = (isNarrowed: boolean) => ({
      none: beginStatement(tables, 'none', isNarrowed),
      sets: beginStatement(tables, 'sets', isNarrowed),
      removes: beginStatement(tables, 'removes', isNarrowed),
    });
    this.#begins = { plain: begins(false), narrowed: begins(true) };
  }

  async begin(begin: RunBegin): Promise<BeginOutcome> {
    const outcome = begin.webhook
      ? await this.#parts.leases.refuseAgain(begin)
      : begin.message
        ? ((await this.#parts.leases.refuseAgain(begin)) ?? (await this.#beginWith(begin, begin.message)))
        : await this.#beginWithoutMessage(begin);
    return outcome ?? this.#database.transaction((run) => this.#beginLocked(run, begin));
  }

  /** Begins a run with a message in one statement. Returns undefined if the run has to begin with the session's row locked. */
  async #beginWith(begin: RunBegin, toMessage: RunBegin['message'] & {}): Promise<BeginOutcome | undefined> {
    const message = toMessage(-Infinity);
    const { isNarrowed, values: window } = windowValues(begin.window);
    const statement = this.#begins[isNarrowed ? 'narrowed' : 'plain'][changeOf(message)];
    const event = [...eventValues(message), begin.create];
    const values = [...claimValues(begin), ...runValues(begin), ...event, ...window, ...stateValues(message)];
    const { claim, session } = new StoredRows(begin.appName, await this.#run(statement, values));
    const claimed = this.#parts.leases.toRunOutcome(begin, claim, session && session.lastSeq + 1);
    if (claimed?.status === 'missing' && begin.create) return undefined;
    if (claimed?.status !== 'taken') return claimed;
    return session && { ...claimed, session, duplicate: undefined };
  }

  /** Begins a run without a message in two statements. Returns undefined if the session has to be created. */
  async #beginWithoutMessage(begin: RunBegin): Promise<BeginOutcome | undefined> {
    let claimed = await this.#parts.leases.claimForRun(this.#run, begin, false);
    while (!claimed) {
      claimed = await this.#database.transaction(async (run) => {
        await this.#parts.appender.lock(run, begin);
        return this.#parts.leases.claimForRun(run, begin, true);
      });
    }
    if (claimed.status === 'missing' && begin.create) return undefined;
    if (claimed.status !== 'taken') return claimed;
    const session = await this.#parts.reads.readSession(begin, begin.window);
    return session ? { ...claimed, session, duplicate: undefined } : { status: 'missing' };
  }

  /** Begins a run with the session's row locked, so that the message follows the events that are read. */
  async #beginLocked(run: RunStatement, begin: RunBegin): Promise<BeginOutcome> {
    const { appName, userId, sessionId, nowMs } = begin;
    const key = { appName, userId, sessionId };
    const pk = await this.#parts.appender.lock(run, key);
    if (pk === undefined && begin.create) {
      await run(this.#insertSession, [...keyOf(key), nowMs]);
      // Another caller may have created the session in the meantime.
      await this.#parts.appender.lock(run, key);
    }
    const claimed = await this.#parts.leases.claimForRun(run, begin, true);
    if (claimed?.status !== 'taken') return claimed ?? { status: 'busy', freeAtMs: nowMs };
    const { lease } = claimed;
    if (begin.webhook) await this.#parts.webhooks.add(run, begin.webhook);
    const session = await this.#parts.reads.readSession(key, begin.window, run);
    if (!session) return { status: 'missing' };
    const message = begin.message?.(this.#parts.positions.get(lease.epoch)?.compactedUntil ?? -Infinity);
    if (!message) return { ...claimed, session, duplicate: undefined };
    const append = { ...key, incarnation: session.incarnation, ...message, nowMs, lease };
    return { ...claimed, session, duplicate: await this.#parts.appender.appendMessage(run, append, lease) };
  }
}
