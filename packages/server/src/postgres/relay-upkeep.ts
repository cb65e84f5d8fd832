import type { RelayHost } from '../runs/run-relay.ts';
import type { RelayDatabase } from './relay-database.ts';
import type { RelayNotifications } from './relay-notifications.ts';
import type { RelayStatements } from './relay-statements.ts';
import type { RunFeeds } from './run-feeds.ts';
import type { RunPublisher } from './run-publisher.ts';
import type { RelayTable } from './run-table.ts';

/** Number of heartbeats between two sweeps of expired rows. Each process sweeps the rows of all processes. */
const BEATS_PER_SWEEP = 6;

/** The parts of a relay that `RelayUpkeep` uses. */
export interface RelayParts {
  readonly host: RelayHost;
  readonly database: RelayDatabase;
  readonly statements: RelayStatements;
  readonly table: RelayTable;
  readonly publisher: RunPublisher;
  readonly feeds: RunFeeds;
  readonly notifications: RelayNotifications;
}

/**
 * Writes heartbeats of this process, reads changes whose notifications were lost, and removes expired rows, at regular intervals. Its
 * timers do not keep the process alive.
 */
export class RelayUpkeep {
  readonly #parts: RelayParts;
  readonly #everyMs: number;
  readonly #maxKeptChars: number;
  #callOff: (() => void) | undefined;
  #beats = 0;
  #failures = 0;
  #isClosed = false;

  constructor(parts: RelayParts, everyMs: number, maxKeptChars: number) {
    this.#parts = parts;
    this.#everyMs = everyMs;
    this.#maxKeptChars = maxKeptChars;
  }

  /** Starts the heartbeats. A second call does nothing. */
  start(): void {
    if (!this.#callOff) this.#set();
  }

  close(): void {
    this.#isClosed = true;
    this.#callOff?.();
  }

  /** Ends the runs of this process that other processes asked to end. Never rejects. */
  async applyStops(): Promise<void> {
    await this.#try(async () => {
      const { table, host } = this.#parts;
      for (const { app_name: appName, user_id: userId, session_id: sessionId, ...run } of await table.stops()) {
        const key = { appName, userId, sessionId };
        host.stop(key, run.invocation_id, run.stop === 'forget' ? 'forget' : 'cancel');
      }
    });
  }

  #set(): void {
    if (this.#isClosed) return;
    this.#callOff = this.#parts.host.platform.schedule(this.#everyMs, () => void this.#beat(), { idle: true });
  }

  async #beat(): Promise<void> {
    const { notifications, feeds, publisher, table } = this.#parts;
    notifications.check();
    feeds.wakeAll();
    if (publisher.isHosting) {
      await this.#try(() => table.renewLease());
      await this.applyStops();
    }
    if (++this.#beats % BEATS_PER_SWEEP === 0) await this.#try(() => this.#sweep());
    this.#set();
  }

  async #sweep(): Promise<void> {
    const { database, statements } = this.#parts;
    await database.query(statements.expireLost, []);
    await database.query(statements.sweep, [this.#maxKeptChars]);
    await database.query(statements.sweepHosts, []);
  }

  /** Reports only the first of consecutive failures. */
  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failures = 0;
    } catch (error) {
      if (++this.#failures === 1 && !this.#isClosed) this.#parts.host.report(error);
    }
  }
}
