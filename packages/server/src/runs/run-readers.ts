import type { Platform } from '@eventloom/core';
import { SlowReaderError, TooManyReadersError, UserLimitError } from '../errors.ts';
import { errorBody } from '../http/error-response.ts';
import { UserQueues } from '../http/in-slices.ts';
import { isOverLimit, RequestQuota, type UserQuotas } from '../http/user-quotas.ts';
import type { ServerLimits } from '../server-limits.ts';
import { MAX_WRITE_CHARS } from './large-text.ts';
import type { RunLog } from './run-log.ts';
import { type EarlierFrames, type RunFormat, RunReader } from './run-reader.ts';

/** Options of `RunReaders`. */
interface RunReadersOptions {
  readonly platform: Platform;
  readonly limits: Pick<ServerLimits, 'maxReadersPerRun' | 'maxReadersPerUser' | 'heartbeatMs'>;
  /** Counts the large texts that clients have not read. */
  readonly quotas: UserQuotas;
  /** Called with each failure of a reader. */
  readonly report: (error: unknown) => void;
}

/** All connections of a process that read logs, limited by run and by user, with one timer for all heartbeats. */
export class RunReaders {
  readonly #options: RunReadersOptions;
  readonly #byUser = new Map<string, Set<RunReader>>();
  /** Readers that wrote in this tick. */
  readonly #gathering = new Set<RunReader>();
  #callOffBeat: (() => void) | undefined;
  readonly #userQueues: UserQueues;
  #isDraining = false;

  constructor(options: RunReadersOptions) {
    this.#options = options;
    this.#userQueues = new UserQueues(options.platform);
  }

  /**
   * Opens a connection that reads a log. Returns all frames at once if the log has ended and is short.
   * @param position the frames after it are sent; undefined for the beginning of the log
   * @param earlier stored events to send before the frames
   * @throws TooManyReadersError
   */
  read<Body>(log: RunLog, position: number | undefined, format: RunFormat<Body>, earlier?: EarlierFrames): Body {
    const { limits, platform } = this.#options;
    if (log.readers.size >= limits.maxReadersPerRun) {
      // A client that disconnected from a silent run is counted until something is sent to it.
      for (const reader of log.readers) reader.probe();
      throw new TooManyReadersError(
        `the run ${log.invocationId} has ${log.readers.size} readers, which is limits.maxReadersPerRun of this server; try again when one has left`,
      );
    }
    log.wasRead = true;
    const isWhole =
      log.end && log.end.kind !== 'continues' && !earlier && log.chars < MAX_WRITE_CHARS && !this.#isDraining;
    const from = position ?? log.beginPosition;
    if (isWhole && from >= log.gonePosition) return format.whole(log.framesAfter(from, Infinity));
    const reader = new RunReader(this, platform, log, position, earlier);
    const body = format.open(reader);
    const { userId } = log.key;
    const ofUser = this.#byUser.get(userId);
    if (ofUser) ofUser.add(reader);
    else this.#byUser.set(userId, new Set([reader]));
    this.#callOffBeat ??= platform.schedule(limits.heartbeatMs, this.#beat);
    if (this.#isDraining) reader.askToReconnect();
    return body;
  }

  readonly #beat = (): void => {
    const { limits, platform } = this.#options;
    this.#callOffBeat = undefined;
    for (const readers of this.#byUser.values()) for (const reader of readers) reader.beat();
    if (this.#byUser.size > 0) this.#callOffBeat = platform.schedule(limits.heartbeatMs, this.#beat);
  };

  /** Joins everything that a reader gets until the end of the tick into one write, because the reader has already written in this tick. */
  gather(reader: RunReader): void {
    reader.isGathering = true;
    if (this.#gathering.size === 0) this.#options.platform.schedule(0, this.#flush);
    this.#gathering.add(reader);
  }

  readonly #flush = (): void => {
    const readers = Array.from(this.#gathering);
    this.#gathering.clear();
    for (const reader of readers) {
      reader.isGathering = false;
      reader.notify();
    }
  };

  /** Removes a closed reader, and the log if nothing else needs it. */
  closed(reader: RunReader, log: RunLog, failure?: unknown): void {
    const ofUser = this.#byUser.get(log.key.userId);
    if (ofUser?.delete(reader) && ofUser.size === 0) this.#byUser.delete(log.key.userId);
    if (this.#byUser.size === 0) this.stop();
    log.readers.delete(reader);
    log.dropIfUnread();
    if (failure !== undefined) this.#options.report(failure);
  }

  /** Reads a page of stored events. Pages of one user are read one after the other. */
  nextPage<T>(userId: string, pages: AsyncIterator<T, void>): Promise<IteratorResult<T, void>> {
    return this.#userQueues.run(userId, () => pages.next());
  }

  /** Counts a large text of a user until it is released. @throws SlowReaderError if the user has no room for it */
  hold(userId: string, chars: number): RequestQuota {
    const held = new RequestQuota(this.#options.quotas, userId);
    try {
      held.countResponse(chars);
    } catch (cause) {
      if (!isOverLimit(cause)) throw cause;
      throw new SlowReaderError(`${errorBody(cause).error}; follow the run again`, { cause });
    }
    return held;
  }

  /** Asks all clients to reconnect, so that they reach another process. */
  askToReconnect(): void {
    this.#isDraining = true;
    for (const readers of this.#byUser.values()) for (const reader of readers) reader.askToReconnect();
  }

  /** Stops the heartbeats. */
  stop(): void {
    this.#callOffBeat?.();
    this.#callOffBeat = undefined;
  }

  /** The time between two heartbeats. */
  get heartbeatMs(): number {
    return this.#options.limits.heartbeatMs;
  }

  /**
   * Checks that a user may open one more connection, or may reserve one. If not, disconnects connections that read nothing soon.
   * @throws UserLimitError
   */
  checkUser(userId: string): void {
    const { limits, quotas } = this.#options;
    const readers = this.#byUser.get(userId);
    const count = (readers?.size ?? 0) + (quotas.users.get(userId)?.reservedReaders ?? 0);
    if (count < limits.maxReadersPerUser) return;
    for (const reader of readers ?? []) reader.probe();
    throw new UserLimitError(
      `the user has ${count} connections that read runs, which is ` +
        'limits.maxReadersPerUser of this server; try again when one of them is closed',
    );
  }

  /** Reads a log for a client that did not start the run. @throws UserLimitError @throws TooManyReadersError */
  join<Body>(log: RunLog, position: number, format: RunFormat<Body>, earlier?: EarlierFrames): Body {
    this.checkUser(log.key.userId);
    return this.read(log, position, format, earlier);
  }
}
