import type { BeginOutcome, RunClaim } from '../session-driver.ts';
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
interface BeginParts {
  readonly appender: EventAppender;
  readonly leases: PostgresLeases;
  readonly reads: PostgresReads;
  readonly webhooks: PostgresRunWebhooks;
  readonly positions: WriterPositions;
}

/**
 * Begins runs: in one statement with a message, in two without one, and in a transaction if the run has a webhook, if a message requires
 * an epoch, if a request takes the session over, or if the session's row must be locked.
 */
export class PostgresRunStarts {
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #parts: BeginParts;
  readonly #insertSession: Statement;
  readonly #starts: Readonly<Record<'plain' | 'narrowed', Readonly<Record<StateChange, Statement>>>>;

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
    this.#starts = { plain: begins(false), narrowed: begins(true) };
  }

  async begin(claim: RunClaim): Promise<BeginOutcome> {
    const outcome =
      claim.webhook || takesOver(claim) || (claim.message && claim.lastEpoch !== undefined)
        ? await this.#parts.leases.refuseAgain(claim)
        : claim.message
          ? ((await this.#parts.leases.refuseAgain(claim)) ?? (await this.#beginWith(claim, claim.message)))
          : await this.#beginWithoutMessage(claim);
    return outcome ?? this.#database.transaction((run) => this.#beginLocked(run, claim));
  }

  /** Begins a run with a message in one statement. Returns undefined if the run has to begin with the session's row locked. */
  async #beginWith(claim: RunClaim, toMessage: RunClaim['message'] & {}): Promise<BeginOutcome | undefined> {
    const message = toMessage(-Infinity);
    const { isNarrowed, values: window } = windowValues(claim.window);
    const statement = this.#starts[isNarrowed ? 'narrowed' : 'plain'][changeOf(message)];
    const event = [...eventValues(message), claim.create];
    const values = [...claimValues(claim), ...runValues(claim), ...event, ...window, ...stateValues(message)];
    const { claim: row, session } = new StoredRows(claim.appName, await this.#run(statement, values));
    const claimed = this.#parts.leases.toRunOutcome(claim, row, session && session.lastSeq + 1);
    if (claimed?.status === 'missing' && claim.create) return undefined;
    if (claimed?.status !== 'taken') return claimed;
    return session && { ...claimed, session, duplicate: undefined };
  }

  /** Begins a run without a message in two statements. Returns undefined if the session has to be created. */
  async #beginWithoutMessage(claim: RunClaim): Promise<BeginOutcome | undefined> {
    let claimed = await this.#parts.leases.claimForRun(this.#run, claim, false);
    while (!claimed) {
      claimed = await this.#database.transaction(async (run) => {
        await this.#parts.appender.lock(run, claim);
        return this.#parts.leases.claimForRun(run, claim, true);
      });
    }
    if (claimed.status === 'missing' && claim.create) return undefined;
    if (claimed.status !== 'taken') return claimed;
    const session = await this.#parts.reads.readSession(claim, claim.window);
    return session ? { ...claimed, session, duplicate: undefined } : { status: 'missing' };
  }

  /** Begins a run with the session's row locked, so that the message follows the events that are read. */
  async #beginLocked(run: RunStatement, claim: RunClaim): Promise<BeginOutcome> {
    const { appName, userId, sessionId, nowMs } = claim;
    const key = { appName, userId, sessionId };
    const pk = await this.#parts.appender.lock(run, key);
    if (pk === undefined && claim.create) {
      await run(this.#insertSession, [...keyOf(key), nowMs]);
      // Another caller may have created the session in the meantime.
      await this.#parts.appender.lock(run, key);
    }
    const claimed = await this.#parts.leases.claimForRun(run, claim, true);
    if (claimed?.status !== 'taken') return claimed ?? { status: 'busy', freeAtMs: nowMs };
    const { lease } = claimed;
    if (claim.webhook) await this.#parts.webhooks.add(run, claim.webhook);
    const session = await this.#parts.reads.readSession(key, claim.window, run);
    if (!session) return { status: 'missing' };
    const message = claim.message?.(this.#parts.positions.get(lease.epoch)?.compactedUntil ?? -Infinity);
    if (!message) return { ...claimed, session, duplicate: undefined };
    const append = { ...key, incarnation: session.incarnation, ...message, nowMs, lease };
    return { ...claimed, session, duplicate: await this.#parts.appender.appendMessage(run, append, lease) };
  }
}

/**
 * True for a request that takes the session from an owner. Its statement might begin before the request is cancelled, and the cancellation
 * does not change the epoch of an owner.
 */
function takesOver({ takeOver, requestId }: RunClaim): boolean {
  return takeOver && requestId !== undefined;
}
