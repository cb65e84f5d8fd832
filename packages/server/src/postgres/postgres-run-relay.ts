import { ConfigurationError, type SessionKey } from '@eventloom/core';
import {
  checkOptions,
  listenToPool,
  type OptionRules,
  type PostgresPool,
  wrongOption,
  within,
} from '@eventloom/core/internal';
import type { LogMirror, RelayedLog, RelayHost, RemoteRun, RunPublication, RunRelay } from '../runs/run-relay.ts';
import { MAX_TIME_MS } from '../server-limits.ts';
import { RelayDatabase } from './relay-database.ts';
import { RelayNotifications } from './relay-notifications.ts';
import { relayStatements } from './relay-statements.ts';
import { relayTablesOf, type RelayTables } from './relay-tables.ts';
import { type RelayParts, RelayUpkeep } from './relay-upkeep.ts';
import { endOf, type RelayState } from './run-feed.ts';
import { RunFeeds } from './run-feeds.ts';
import { RunPublisher } from './run-publisher.ts';
import { RelayTable } from './run-table.ts';

/** Options of `PostgresRunRelay`. */
export interface PostgresRunRelayOptions {
  /**
   * A pool of the package `pg`, or an object with the same methods. The relay listens to its `connect` and `error` events, so that a lost
   * connection does not end the process. It keeps one connection to listen for notifications, so the pool must connect to the database
   * itself, not to a pooler that assigns connections by transaction, and have at least 2 connections. The caller owns the pool, and ends it
   * after closing the relay.
   */
  readonly pool: PostgresPool;
  /** Schema of the tables, created if it does not exist. Default: the first schema in the `search_path` of the connection. */
  readonly schema?: string | undefined;
  /**
   * Time in milliseconds without a heartbeat after which a process counts as lost, and followers of its runs get an error. A process sends
   * three heartbeats in this time. The relay waits for a failing database for the same time. At most a day; default 15,000.
   */
  readonly leaseMs?: number | undefined;
  /**
   * Maximum number of characters of ended runs that are kept, for all processes together. The oldest run is removed first. Default 256 Mi.
   */
  readonly maxKeptChars?: number | undefined;
  /**
   * Maximum number of characters of this process's ended runs that wait to be written. Beyond it the oldest run is not published to its
   * end, and clients that follow it through other processes get `RUN_RELAY`. Active runs do not count. Default 16 Mi.
   */
  readonly maxBacklogChars?: number | undefined;
}

/** Time that the database has to answer when the relay is closed, in milliseconds. */
const CLOSE_MS = 3000;

const POOL = 'new Pool({ connectionString }), with Pool of the package pg';
const EXAMPLE = 'new PostgresRunRelay({ pool: new Pool({ connectionString }) }), with Pool of the package pg';
const CHARS = { is: 'number', min: 1, max: Number.MAX_SAFE_INTEGER } as const;
const OPTIONS: OptionRules<PostgresRunRelayOptions> = {
  pool: { is: 'object', wanted: 'a pool', write: POOL },
  schema: 'text',
  leaseMs: { is: 'number', min: 1, max: MAX_TIME_MS },
  maxKeptChars: CHARS,
  maxBacklogChars: CHARS,
};
const DEFAULT_LEASE_MS = 15_000;
/**
 * Minimum time limit of a statement in milliseconds, even with a shorter lease, because the first statement creates the
 * tables.
 */
const MIN_TIMEOUT_MS = 5000;
const DEFAULT_MAX_KEPT_CHARS = 256 * 1024 * 1024;
const DEFAULT_MAX_BACKLOG_CHARS = 16 * 1024 * 1024;

/**
 * A relay over tables and notifications of a PostgreSQL database that all processes of a server share, so that each run can be followed and
 * cancelled through any process. It creates missing tables. Events are written after a fifth of a second, or after a few milliseconds if
 * another process follows the run. Events that a killed process had not written cannot be followed.
 */
export class PostgresRunRelay implements RunRelay {
  readonly #pool: PostgresPool;
  readonly #tables: RelayTables;
  readonly #leaseMs: number;
  readonly #maxKeptChars: number;
  readonly #maxBacklogChars: number;
  #hostId = '';
  #parts: RelayParts | undefined;
  #upkeep: RelayUpkeep | undefined;
  #isUsed = false;

  /** @throws ConfigurationError for an invalid value, and for an unknown option */
  constructor(options: PostgresRunRelayOptions) {
    checkOptions('PostgresRunRelay', OPTIONS, options, {}, EXAMPLE);
    if (typeof options.pool?.query !== 'function')
      throw wrongOption('PostgresRunRelay', 'pool', 'a pool', options.pool, POOL);
    checkPoolSize(options.pool);
    this.#pool = options.pool;
    listenToPool(this.#pool);
    this.#tables = relayTablesOf(options.schema);
    this.#leaseMs = options.leaseMs ?? DEFAULT_LEASE_MS;
    this.#maxKeptChars = options.maxKeptChars ?? DEFAULT_MAX_KEPT_CHARS;
    this.#maxBacklogChars = options.maxBacklogChars ?? DEFAULT_MAX_BACKLOG_CHARS;
  }

  attach(host: RelayHost): void {
    if (this.#parts)
      throw new ConfigurationError('PostgresRunRelay: is attached to another server; create one relay per server');
    const { platform } = host;
    this.#hostId = platform.newUuid();
    const statements = relayStatements(this.#tables);
    const timeoutMs = Math.max(this.#leaseMs, MIN_TIMEOUT_MS);
    const database = new RelayDatabase(this.#pool, this.#tables, platform, timeoutMs);
    const table = new RelayTable(database, statements, this.#hostId, this.#leaseMs, host.keepRunsMs);
    const publisher = new RunPublisher(table, host, this.#maxBacklogChars, () => void this.#upkeep?.applyStops());
    const feeds = new RunFeeds({ database, statements, platform, failAfterMs: this.#leaseMs });
    const notifications = new RelayNotifications(this.#pool, platform, {
      notified: (what, id) => this.#notified(what, id),
      listening: () => this.#catchUp(),
      report: (error) => host.report(error),
    });
    this.#parts = { host, database, statements, table, publisher, feeds, notifications };
    this.#upkeep = new RelayUpkeep(this.#parts, this.#leaseMs / 3, this.#maxKeptChars);
  }

  publish(log: RelayedLog): RunPublication {
    return this.#use().publisher.publish(log);
  }

  async find(key: SessionKey, id: string): Promise<RemoteRun | undefined> {
    interface Row extends RelayState {
      readonly invocation_id: string;
      readonly attempt: number;
      readonly gone_position: number;
      readonly last_position: number;
    }
    const { database, statements } = this.#use();
    const [row] = await database.query<Row>(statements.find, valuesOf(key, id, this.#hostId));
    if (!row) return undefined;
    const { invocation_id: invocationId, attempt, gone_position: gonePosition, last_position: lastPosition } = row;
    return { invocationId, attempt, gonePosition, lastPosition, end: endOf(row, invocationId) };
  }

  follow(key: SessionKey, invocationId: string, position: number, mirror: LogMirror): () => void {
    return this.#use().feeds.follow(key, invocationId, position, mirror);
  }

  async cancel(key: SessionKey, invocationId: string): Promise<void> {
    const { database, statements } = this.#use();
    await database.query(statements.cancel, valuesOf(key, invocationId));
  }

  async forgetSession(key: SessionKey): Promise<void> {
    interface Row {
      readonly run_key: string;
      readonly invocation_id: string;
      readonly is_own: boolean;
    }
    const { database, statements } = this.#use();
    const runs = await database.query<Row>(statements.runsOfSession, [...valuesOf(key), this.#hostId]);
    const ends: Promise<void>[] = [];
    for (const { run_key, invocation_id, is_own } of runs) {
      const [row] = await database.query<{ readonly last_position: number; readonly is_over: boolean }>(
        statements.forget,
        [run_key],
      );
      if (row && !row.is_over && !is_own) ends.push(this.#ended(key, invocation_id, row.last_position));
    }
    await Promise.all(ends);
  }

  /**
   * Writes the remaining events and leaves the relay; the pool can be ended afterwards. Active runs can no longer be followed through
   * other processes, so call it after the server was drained. Resolves after three seconds if the database has not answered by then; other
   * processes then find out that this one has ended when its lease expires. Never rejects.
   */
  async close(): Promise<void> {
    const parts = this.#parts;
    if (!parts || !this.#isUsed) return;
    const { feeds, publisher, notifications, table, host } = parts;
    this.#upkeep?.close();
    feeds.close();
    let isLate = false;
    const leave = async (): Promise<void> => {
      await publisher.close();
      if (!isLate) await table.leave();
    };
    const left = leave().catch((error: unknown) => {
      if (!isLate) host.report(error);
    });
    await within(host.platform, left, CLOSE_MS);
    isLate = true;
    notifications.close();
  }

  #use(): RelayParts {
    const parts = this.#parts;
    if (!parts)
      throw new ConfigurationError(
        'PostgresRunRelay: is not attached to a server; pass it to createServer as relay first',
      );
    if (!this.#isUsed) {
      this.#isUsed = true;
      parts.notifications.start();
      this.#upkeep?.start();
    }
    return parts;
  }

  /**
   * Handles a notification.
   *
   * @param name the key of a run, or with `stop` the id of a host
   */
  #notified(what: string, name: string): void {
    if (what === 'more') this.#parts?.feeds.wake(name);
    else if (what === 'follow') this.#parts?.publisher.follow(name);
    else if (what === 'stop' && name === this.#hostId) void this.#upkeep?.applyStops();
  }

  /** Reads everything that is new, because notifications may have been missed while the connection was lost. */
  #catchUp(): void {
    this.#parts?.feeds.wakeAll();
    void this.#upkeep?.applyStops();
  }

  #ended(key: SessionKey, invocationId: string, position: number): Promise<void> {
    return new Promise((resolve) => {
      this.follow(key, invocationId, position, { mirror: () => undefined, mirrorEnded: () => resolve() });
    });
  }
}

function valuesOf({ appName, userId, sessionId }: SessionKey, ...more: readonly string[]): unknown[] {
  return [appName, userId, sessionId, ...more];
}

/** @throws ConfigurationError for a pool of one connection: the relay keeps it, and every statement would wait for another one */
function checkPoolSize(pool: PostgresPool & { readonly options?: { readonly max?: unknown } | undefined }): void {
  if (pool.options?.max !== 1) return;
  throw new ConfigurationError(
    'PostgresRunRelay: pool: has at most 1 connection, which the relay would keep for notifications; write max: 2 or more in the options of the pool',
  );
}
