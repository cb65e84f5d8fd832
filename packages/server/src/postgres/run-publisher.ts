import { RunRelayError } from '../errors.ts';
import type { RelayedLog, RelayHost, RunPublication } from '../runs/run-relay.ts';
import { formatPosition } from '../runs/run-log.ts';
import { backoffMs } from './backoff.ts';
import { PublishedRun, type RunWrite } from './published-run.ts';
import type { RelayTable } from './run-table.ts';

/** The time for which events are batched while no other server follows the run. */
const UNFOLLOWED_MS = 200;
/** The time for which events are batched while another server follows the run: too short to notice. */
const FOLLOWED_MS = 10;
/** Maximum number of runs in one statement. */
const MAX_RUNS_PER_WRITE = 50;
/** Number of characters that a run adds to the backlog in addition to its events. */
const CHARS_OF_A_RUN = 1000;

/**
 * Writes the runs of this process into the tables. One statement writes the new frames of all runs, and only one
 * statement runs at a time, so that batches grow if the database is slow. Frames that the runs keep in memory survive
 * failures of the database.
 */
export class RunPublisher {
  readonly #table: RelayTable;
  readonly #host: Pick<RelayHost, 'platform' | 'report'>;
  readonly #maxBacklogChars: number;
  readonly #onStopped: () => void;
  /** The runs, by their keys, that the tables record as running or are about to. */
  readonly #runs = new Map<string, PublishedRun>();
  /** Runs with frames that are not written yet. */
  readonly #waiting = new Set<PublishedRun>();
  /** Ended runs among `#waiting`, oldest first, each with the number of characters counted for it. */
  readonly #backlog = new Map<PublishedRun, number>();
  #backlogChars = 0;
  #timer: { readonly delayMs: number; readonly callOff: () => void } | undefined;
  #writing: Promise<void> | undefined;
  #failures = 0;
  /** True if the tables may record runs as running that are no longer published. */
  #hasDropped = false;
  #isClosed = false;

  /**
   * @param maxBacklogChars maximum number of characters of ended runs that wait to be written; active runs are bounded by the hub
   * @param onStopped called when another process requests the end of a run
   */
  constructor(
    table: RelayTable,
    host: Pick<RelayHost, 'platform' | 'report'>,
    maxBacklogChars: number,
    onStopped: () => void,
  ) {
    this.#table = table;
    this.#host = host;
    this.#maxBacklogChars = maxBacklogChars;
    this.#onStopped = onStopped;
  }

  /** True while a run is recorded as running in the tables. */
  get isHosting(): boolean {
    return this.#runs.size > 0;
  }

  publish(log: RelayedLog): RunPublication {
    const published = new PublishedRun(log, (changed) => this.#add(changed));
    const before = this.#runs.get(published.runKey);
    if (before) this.#supersede(before);
    this.#runs.set(published.runKey, published);
    this.#add(published);
    return published;
  }

  /** Writes a run of this process more often from now on, because another process follows the run. */
  follow(runKey: string): void {
    const published = this.#runs.get(runKey);
    if (!published) return;
    published.isFollowed = true;
    if (this.#waiting.has(published)) this.#schedule(0);
  }

  /** Writes the remaining frames, if the database is reachable. */
  async close(): Promise<void> {
    do await this.#flush();
    while (this.#waiting.size > 0 && this.#failures === 0);
    this.#isClosed = true;
    this.#timer?.callOff();
    for (const published of this.#waiting) published.settleAnnouncement();
    this.#waiting.clear();
  }

  #add(published: PublishedRun): void {
    if (published.isDropped || this.#isClosed) {
      published.settleAnnouncement();
      return;
    }
    this.#waiting.add(published);
    // While the database fails, runs do not wait for their announcement.
    if (this.#failures > 0) published.settleAnnouncement();
    if (published.log.isEnded) this.#addToBacklog(published);
    this.#schedule(delayOf(published));
  }

  #addToBacklog(published: PublishedRun): void {
    if (this.#backlog.has(published)) return;
    const chars = published.log.chars + CHARS_OF_A_RUN;
    this.#backlog.set(published, chars);
    this.#backlogChars += chars;
    for (const [oldest] of this.#backlog) {
      if (this.#backlogChars <= this.#maxBacklogChars) break;
      this.#drop(oldest, 'the database does not accept them in time');
    }
  }

  /** Ends the publication of a run. The run itself is not affected. */
  #drop(published: PublishedRun, reason: string): void {
    published.isDropped = true;
    this.#hasDropped = true;
    this.#finish(published);
    const { invocationId } = published.log;
    this.#host.report(
      new RunRelayError(
        `the remaining events of run ${invocationId} are not sent to other processes, because ${reason}; read them from the session`,
      ),
    );
  }

  /** Drops the earlier publication of a run that is resumed before its end was written: its new frames follow instead. */
  #supersede(published: PublishedRun): void {
    published.isDropped = true;
    this.#finish(published);
  }

  #finish(published: PublishedRun): void {
    const { runKey } = published;
    published.settleAnnouncement();
    this.#waiting.delete(published);
    if (this.#runs.get(runKey) === published) this.#runs.delete(runKey);
    this.#backlogChars -= this.#backlog.get(published) ?? 0;
    this.#backlog.delete(published);
  }

  #schedule(delayMs: number): void {
    if (this.#writing || this.#isClosed) return;
    // After a failure, one timer waits for the database.
    if (this.#timer && (this.#timer.delayMs <= delayMs || this.#failures > 0)) return;
    this.#timer?.callOff();
    const callOff = this.#host.platform.schedule(delayMs, () => void this.#flush());
    this.#timer = { delayMs, callOff };
  }

  /** Writes until nothing is due immediately. Never rejects. */
  #flush(): Promise<void> {
    this.#timer?.callOff();
    this.#timer = undefined;
    this.#writing ??= this.#write().then(() => {
      this.#writing = undefined;
      if (this.#failures > 0) this.#schedule(backoffMs(this.#failures));
      else if (this.#waiting.size > 0) this.#schedule(Math.min(...Array.from(this.#waiting, delayOf)));
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    try {
      for (let batch = this.#nextBatch(); batch.length > 0;) {
        await this.#announce(batch.filter(({ isAnnounced }) => !isAnnounced));
        await this.#writeEvents(batch.filter(({ isAnnounced, hasNews }) => isAnnounced && hasNews));
        batch = this.#nextBatch().filter(({ isUrgent }) => isUrgent);
      }
      if (this.#hasDropped) await this.#table.dropOthers([...this.#runs.keys()]);
      this.#hasDropped = false;
      this.#failures = 0;
    } catch (error) {
      if (++this.#failures === 1) this.#host.report(error);
      for (const published of this.#waiting) published.settleAnnouncement();
    }
  }

  #nextBatch(): PublishedRun[] {
    const batch: PublishedRun[] = [];
    for (const published of this.#waiting) {
      if (batch.push(published) === MAX_RUNS_PER_WRITE) break;
    }
    return batch;
  }

  async #announce(unknown: readonly PublishedRun[]): Promise<void> {
    for (const published of unknown) if (published.isForgotten) this.#finish(published);
    const fresh = unknown.filter(({ isForgotten }) => !isForgotten);
    if (fresh.length === 0) return;
    const written = await this.#table.announce(fresh);
    for (const published of fresh) {
      const lastPosition = written.get(published.runKey);
      if (lastPosition === undefined) this.#drop(published, 'another process has a later attempt at the run');
      else published.announceFrom(lastPosition);
      published.settleAnnouncement();
      if (!published.hasNews) this.#waiting.delete(published);
    }
  }

  async #writeEvents(batch: readonly PublishedRun[]): Promise<void> {
    if (batch.length === 0) return;
    const writes = batch.map((published) => published.nextWrite());
    const written = await this.#table.write(writes);
    let isStopped = false;
    for (const write of writes) {
      const { published } = write;
      const row = written.get(published.runKey);
      // A run without a row is announced again, because the database crashed or another process considered this one dead.
      published.isAnnounced = row !== undefined;
      if (!row) continue;
      isStopped ||= row.isStopped;
      this.#reportGap(write);
      published.settleWrite(write, row.isFollowed);
      if (write.isEnd && published.isForgotten === write.isForgotten) this.#finish(published);
      else if (!published.hasNews) this.#waiting.delete(published);
    }
    if (isStopped) this.#onStopped();
  }

  #reportGap({ published, afterPosition }: RunWrite): void {
    if (published.hasGap || afterPosition <= published.writtenPosition) return;
    published.hasGap = true;
    const { invocationId } = published.log;
    const gap = `${formatPosition(published.writtenPosition)} and up to ${formatPosition(afterPosition)}`;
    const message = `the database did not accept the events of run ${invocationId} in time: other processes lack the events after ${gap}, which are in the session`;
    this.#host.report(new RunRelayError(message));
  }
}

/** Returns the time that new frames of a run may wait, in milliseconds. */
function delayOf({ isUrgent, isFollowed }: PublishedRun): number {
  if (isUrgent) return 0;
  return isFollowed ? FOLLOWED_MS : UNFOLLOWED_MS;
}
