import type { PublishedRun, RunWrite } from './published-run.ts';
import type { RelayDatabase } from './relay-database.ts';
import type { RelayStatements } from './relay-statements.ts';

/** The fields of a run's row. */
interface WrittenRun {
  readonly isFollowed: boolean;
  /** True if a process asks for the end of the run. */
  readonly isStopped: boolean;
}

/** A run that a process asks to end. */
interface StoppedRow {
  readonly app_name: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly invocation_id: string;
  readonly stop: unknown;
}

/** Maximum retention time in a statement, in milliseconds (about 30 years), in place of Infinity. */
const MAX_KEEP_MS = 1e12;

/** Writes the runs of this process into the tables. Every method throws RunRelayError. */
export class RelayTable {
  readonly #database: RelayDatabase;
  readonly #statements: RelayStatements;
  readonly #hostId: string;
  readonly #leaseMs: number;
  readonly #keepMs: number;

  constructor(database: RelayDatabase, statements: RelayStatements, hostId: string, leaseMs: number, keepMs: number) {
    this.#database = database;
    this.#statements = statements;
    this.#hostId = hostId;
    this.#leaseMs = leaseMs;
    this.#keepMs = Math.min(keepMs, MAX_KEEP_MS);
  }

  /** Writes the rows of runs. Returns the position of the last written frame of each run that now has a row. */
  async announce(published: readonly PublishedRun[]): Promise<ReadonlyMap<string, number>> {
    interface Row {
      readonly run_key: string;
      readonly last_position: number;
    }
    const rows = await this.#database.query<Row>(this.#statements.announce, [
      this.#hostId,
      this.#leaseMs,
      this.#keepMs,
      published.map(({ runKey }) => runKey),
      published.map(({ log }) => log.key.appName),
      published.map(({ log }) => log.key.userId),
      published.map(({ log }) => log.key.sessionId),
      published.map(({ log }) => log.attempt),
      published.map(({ log }) => log.gonePosition),
      published.map(({ isFollowed }) => isFollowed),
      published.map(({ log }) => log.requestId ?? null),
      published.map(({ log }) => log.invocationId),
    ]);
    return new Map(rows.map(({ run_key, last_position }) => [run_key, last_position]));
  }

  /** Writes new frames and notifies followers. The result omits runs without a row. */
  async write(writes: readonly RunWrite[]): Promise<ReadonlyMap<string, WrittenRun>> {
    interface Row {
      readonly run_key: string;
      readonly is_followed: boolean;
      readonly is_stopped: boolean;
    }
    const text = this.#statements.write(writes.length);
    const rows = await this.#database.query<Row>(text, [this.#hostId, ...writes.flatMap(toValues)]);
    return new Map(rows.map((row) => [row.run_key, { isFollowed: row.is_followed, isStopped: row.is_stopped }]));
  }

  /** Marks all other runs of this host as dropped. */
  async dropOthers(runKeys: readonly string[]): Promise<void> {
    await this.#database.query(this.#statements.drop, [this.#hostId, runKeys]);
  }

  /** Renews the lease of this host. */
  async renewLease(): Promise<void> {
    await this.#database.query(this.#statements.beat, [this.#hostId, this.#leaseMs]);
  }

  /** Records that this host has ended. */
  async leave(): Promise<void> {
    await this.#database.query(this.#statements.leave, [this.#hostId]);
  }

  /** Returns the runs of this host that other processes asked to end. */
  async stops(): Promise<readonly StoppedRow[]> {
    return this.#database.query(this.#statements.stops, [this.#hostId]);
  }
}

/** Columns in the order of the statement. */
function toValues({ published, lastPosition, afterPosition, frames, isEnd, isForgotten }: RunWrite): unknown[] {
  const { attempt, gonePosition, chars, earlyEnd } = published.log;
  const state = !isEnd ? 'running' : earlyEnd ? 'dropped' : 'ended';
  return [
    published.runKey,
    attempt,
    gonePosition,
    lastPosition,
    chars,
    state,
    isForgotten,
    afterPosition,
    frames ?? null,
  ];
}
