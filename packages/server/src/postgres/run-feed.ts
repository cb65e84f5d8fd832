import { type Platform, type SessionKey } from '@eventloom/core';
import { RunHostLostError, RunRelayError } from '../errors.ts';
import type { RemoteRunFollower, RunEnd } from '../runs/run-relay.ts';
import { backoffMs } from './backoff.ts';
import type { RelayDatabase } from './relay-database.ts';
import type { RelayStatements } from './relay-statements.ts';

/** Rows of chunks that are read at once. */
const PAGE = 16;

/** What the row of a run says of its end. */
export interface RunState {
  readonly state: unknown;
  readonly failure: string | null;
  readonly is_alive: boolean;
}

interface FeedRow extends RunState {
  readonly last_seq: number;
  /** The first event of a chunk; null when there is no chunk. */
  readonly chunk_from: number | null;
  readonly events: string | null;
}

/** What a feed reads with. */
export interface FeedSource {
  readonly database: RelayDatabase;
  readonly statements: RelayStatements;
  readonly platform: Platform;
  /** How long the database may fail before the follower is told. */
  readonly patienceMs: number;
}

/**
 * Reads one run out of the tables, for one follower, each time it is woken. Nothing depends on what a message said, nor on that it
 * came: whatever is new since the last reading is read.
 */
export class RunFeed {
  readonly #source: FeedSource;
  readonly #run: readonly [appName: string, userId: string, sessionId: string, invocationId: string];
  readonly #follower: RemoteRunFollower;
  #nextSeq: number;
  #isAsked = false;
  #isReading = false;
  #isWoken = false;
  #isOver = false;
  #failures = 0;
  #failingSinceMs = 0;

  /** @param afterSeq what the follower has already */
  constructor(
    source: FeedSource,
    { appName, userId, sessionId }: SessionKey,
    invocationId: string,
    afterSeq: number,
    follower: RemoteRunFollower,
  ) {
    this.#source = source;
    this.#run = [appName, userId, sessionId, invocationId];
    this.#nextSeq = afterSeq + 1;
    this.#follower = follower;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** There may be more. */
  wake(): void {
    this.#isWoken = true;
    if (!this.#isReading && !this.#isOver) void this.#read();
  }

  /** The follower is told nothing more. */
  leave(): void {
    this.#isOver = true;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      if (!this.#isAsked) await this.#source.database.query(this.#source.statements.follow, [...this.#run]);
      this.#isAsked = true;
      while (this.#isWoken && !this.#isOver) {
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
    const rows = await database.query<FeedRow>(statements.read, [...this.#run, this.#nextSeq, PAGE]);
    if (this.#isOver) return;
    const [run] = rows;
    if (!run) {
      this.#end(lost(this.#run[3]));
      return;
    }
    for (const { chunk_from, events } of rows) {
      if (chunk_from !== null && events !== null) this.#append(chunk_from, events.split('\n'));
    }
    if (rows.length === PAGE) {
      this.#isWoken = true;
      return;
    }
    // All that the row counts was read, or is not kept any more.
    if (this.#nextSeq <= run.last_seq) this.#append(run.last_seq + 1, []);
    const end = endOf(run, this.#run[3]);
    if (end) this.#end(end);
  }

  #append(firstSeq: number, events: readonly string[]): void {
    const fromSeq = Math.max(firstSeq, this.#nextSeq);
    const texts = firstSeq < fromSeq ? events.slice(fromSeq - firstSeq) : events;
    this.#nextSeq = fromSeq + texts.length;
    this.#follower.appended(fromSeq, texts);
  }

  #end(end: RunEnd): void {
    this.#isOver = true;
    this.#follower.ended(end);
  }

  #retry(error: unknown): void {
    if (this.#isOver) return;
    const { platform, patienceMs } = this.#source;
    if (++this.#failures === 1) this.#failingSinceMs = platform.now();
    if (platform.now() - this.#failingSinceMs < patienceMs) {
      platform.schedule(backoffMs(this.#failures), () => this.wake());
      return;
    }
    const message = 'the run cannot be followed from this process, whose database fails; it goes on: connect again';
    this.#end({ kind: 'lost', error: new RunRelayError(message, { cause: error }) });
  }
}

/** How a run ended, as its row says it; undefined while it goes on. */
export function endOf({ state, failure, is_alive }: RunState, invocationId: string): RunEnd | undefined {
  if (state === 'ended') return { kind: 'ended', failureText: failure ?? undefined };
  if (state === 'dropped') return lost(invocationId);
  if (is_alive) return undefined;
  const error = new RunHostLostError(
    `the process that ran ${invocationId} is gone; what was committed is in the session`,
  );
  return { kind: 'lost', error };
}

function lost(invocationId: string): RunEnd {
  const error = new RunRelayError(
    `the run ${invocationId} cannot be followed from other processes any more; what it commits is in the session`,
  );
  return { kind: 'lost', error };
}
