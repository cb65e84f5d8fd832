import { type Platform, type SessionKey } from '@eventloom/core';
import { RunGoesOnError, RunRelayError } from '../errors.ts';
import type { LogMirror, RelayEnd, RunFrame } from '../runs/run-relay.ts';
import { backoffMs } from './backoff.ts';
import type { RelayDatabase } from './relay-database.ts';
import type { RelayStatements } from './relay-statements.ts';

/** Number of rows of chunks that one statement reads. */
const PAGE = 16;

/** The fields of a run's row that determine its end. */
export interface RelayState {
  readonly state: unknown;
  readonly is_alive: boolean;
}

interface FeedRow extends RelayState {
  readonly last_position: number;
  /** Position after which the frames of a chunk follow; null if there is no chunk. */
  readonly after_position: number | null;
  readonly frames: string | null;
}

/** Parameters of a `RunFeed`. */
export interface FeedSource {
  readonly database: RelayDatabase;
  readonly statements: RelayStatements;
  readonly platform: Platform;
  /** Time in milliseconds for which the database may fail before the mirror gets an end. */
  readonly failAfterMs: number;
}

/**
 * Copies one run from the tables into a mirror each time `wake` is called. It reads everything that is new since the last read, so lost
 * notifications delay frames but do not lose them.
 */
export class RunFeed {
  readonly #source: FeedSource;
  readonly #run: readonly [appName: string, userId: string, sessionId: string, invocationId: string];
  readonly #mirror: LogMirror;
  #position: number;
  #isAsked = false;
  #isReading = false;
  #isWoken = false;
  #isEnded = false;
  #failures = 0;
  #failingSinceMs = 0;

  /** @param position position of the last frame that the mirror has */
  constructor(
    source: FeedSource,
    { appName, userId, sessionId }: SessionKey,
    invocationId: string,
    position: number,
    mirror: LogMirror,
  ) {
    this.#source = source;
    this.#run = [appName, userId, sessionId, invocationId];
    this.#position = position;
    this.#mirror = mirror;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Reads again, because the run may have more frames. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isReading && !this.#isEnded) void this.#read();
  }

  /** Stops the mirror. */
  leave(): void {
    this.#isEnded = true;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      if (!this.#isAsked) await this.#source.database.query(this.#source.statements.follow, [...this.#run]);
      this.#isAsked = true;
      while (this.#isWoken && !this.#isEnded) {
        this.#isWoken = false;
        await this.#readPage();
        this.#failures = 0;
      }
    } catch (error) {
      this.#retry(error);
    } finally {
      this.#isReading = false;
    }
  }

  async #readPage(): Promise<void> {
    const { database, statements } = this.#source;
    const rows = await database.query<FeedRow>(statements.read, [...this.#run, this.#position, PAGE]);
    if (this.#isEnded) return;
    const [run] = rows;
    if (!run) {
      this.#end(lost(this.#run[3]));
      return;
    }
    for (const { after_position, frames } of rows) {
      if (after_position !== null && frames !== null) this.#append(frames.split('\n').map(toFrame), after_position);
    }
    if (rows.length === PAGE) {
      this.#isWoken = true;
      return;
    }
    // All frames that the row counts were read or deleted.
    if (this.#position < run.last_position) this.#append([], run.last_position);
    const end = endOf(run, this.#run[3]);
    if (end) this.#end(end);
  }

  #append(read: readonly RunFrame[], gonePosition: number): void {
    const frames = read.filter(({ position }) => position > this.#position);
    this.#position = frames.at(-1)?.position ?? gonePosition;
    this.#mirror.mirror(frames, gonePosition);
  }

  #end(end: RelayEnd): void {
    this.#isEnded = true;
    this.#mirror.mirrorEnded(end);
  }

  #retry(error: unknown): void {
    if (this.#isEnded) return;
    const { platform, failAfterMs } = this.#source;
    if (++this.#failures === 1) this.#failingSinceMs = platform.now();
    if (platform.now() - this.#failingSinceMs < failAfterMs) {
      platform.schedule(backoffMs(this.#failures), () => this.wake());
      return;
    }
    const message =
      'the run continues, but cannot be followed through this process, because its database fails; connect again';
    this.#end({ kind: 'lost', error: new RunRelayError(message, { cause: error }) });
  }
}

/** Returns the end of a run from its row; undefined while the run is active. */
export function endOf({ state, is_alive }: RelayState, invocationId: string): RelayEnd | undefined {
  if (state === 'ended') return { kind: 'ended' };
  if (state !== 'dropped' && is_alive) return undefined;
  return lost(invocationId);
}

function lost(invocationId: string): RelayEnd {
  const error = new RunGoesOnError(
    `the run ${invocationId} is no longer published by its process; follow it again: its stored events are in the session`,
  );
  return { kind: 'lost', error };
}

function toFrame(line: string): RunFrame {
  const end = line.indexOf(' ');
  return { position: Number(line.slice(0, end)), json: line.slice(end + 1) };
}
