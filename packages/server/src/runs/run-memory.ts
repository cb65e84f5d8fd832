import type { Platform, SessionKey } from '@eventloom/core';
import type { ServerLimits } from '../server-limits.ts';
import type { RunLog } from './run-log.ts';

/** The logs of one user, and the characters that they keep. */
interface UserLogs {
  readonly logs: Set<RunLog>;
  chars: number;
}

/**
 * The memory for the logs of a process, including those of finished runs that are kept for a while. The total of all logs, including logs
 * that only their last readers use, is limited. At the limit, memory of the user with the most kept characters is freed: first the user's
 * finished runs, oldest first, and then the oldest frames of the largest log.
 */
export class RunMemory {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  /** Finished runs in the order in which they ended, with the time of their end in milliseconds since the epoch. */
  readonly #finished = new Map<string, { readonly log: RunLog; readonly endedMs: number }>();
  readonly #users = new Map<string, UserLogs>();
  /** Number of characters of all logs. */
  #chars = 0;
  #finishedChars = 0;
  #isSweepSet = false;

  constructor(platform: Platform, limits: ServerLimits) {
    this.#platform = platform;
    this.#limits = limits;
  }

  /** Returns the log of a finished run. */
  find(name: string): RunLog | undefined {
    return this.#finished.get(name)?.log;
  }

  /** Counts characters that a log keeps from now on, and frees others if needed; a negative number counts dropped ones. */
  count(log: RunLog, chars: number): void {
    const { userId } = log.key;
    const own = this.#users.get(userId);
    if (own) {
      // Counts from the first frame of the log; the counting of later frames runs for each chunk of each run.
      if (log.chars === chars) own.logs.add(log);
      own.chars += chars;
    } else {
      this.#users.set(userId, { logs: new Set([log]), chars });
    }
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.#limits;
    if (chars > 0 && (this.#chars > maxKeptChars || log.chars > maxRunChars)) this.#makeRoom(log);
  }

  /** Stops counting a log that nothing reads any more. */
  remove(log: RunLog): void {
    const { userId } = log.key;
    const own = this.#users.get(userId);
    if (!own?.logs.delete(log)) return;
    own.chars -= log.chars;
    this.#chars -= log.chars;
    if (own.logs.size === 0) this.#users.delete(userId);
  }

  /**
   * Drops frames until the kept ones are within the limits. The newest frame of the log that grew is kept, because its
   * readers have not had it yet.
   */
  #makeRoom(grown: RunLog): void {
    const { maxRunChars, maxKeptChars } = this.#limits;
    // One frame may exceed the limit, because a reader that waits for it or an earlier one is not slow.
    while (grown.count > 1 && grown.chars > maxRunChars + grown.largestChars) grown.dropOldest();
    while (this.#chars > maxKeptChars) {
      const [userId, { logs }] = largest(this.#users, ([, { chars }]) => chars);
      if (this.#dropOldest(userId)) continue;
      const log = largest(logs, ({ chars }) => chars);
      if (log === grown && log.count === 1) return;
      // Drops by halves, so that the largest log is searched for only a few times, even with small frames.
      const enough = log.chars / 2;
      while (this.#chars > maxKeptChars && log.chars > enough && (log !== grown || log.count > 1)) log.dropOldest();
    }
  }

  /**
   * Keeps a finished run for `limits.keepRunsMs`, unless newer runs need the memory: then the oldest run of the user with the most is
   * dropped. If a log of that name is kept already, the new one is released.
   */
  keep(name: string, log: RunLog): void {
    if (this.#finished.has(name)) return log.release();
    const { maxKeptRuns, maxKeptChars, keepRunsMs } = this.#limits;
    this.#finished.set(name, { log, endedMs: this.#platform.now() });
    this.#finishedChars += log.chars;
    while (this.#finished.size > maxKeptRuns) this.#dropOfLargest(() => 1);
    while (this.#finished.size > 1 && this.#finishedChars > maxKeptChars / 4) this.#dropOfLargest(({ chars }) => chars);
    if (!this.#isSweepSet && this.#finished.size > 0) this.#sweepIn(keepRunsMs);
  }

  /** Drops a finished run. Returns false if it is not kept. */
  drop(name: string): boolean {
    const log = this.find(name);
    if (!log) return false;
    this.#finished.delete(name);
    this.#finishedChars -= log.chars;
    log.release();
    return true;
  }

  /** Forgets the finished runs of a session, or one of them, in all processes. */
  forget(key: SessionKey, invocationId?: string): void {
    for (const [name, { log }] of this.#finished) {
      if (!isSameSession(log.key, key) || (invocationId !== undefined && log.invocationId !== invocationId)) continue;
      log.publication?.forget();
      this.drop(name);
    }
  }

  /** Drops the oldest finished run of the user whose finished runs have the largest sum of sizes. */
  #dropOfLargest(sizeOf: (log: RunLog) => number): void {
    const sizes = new Map<string, number>();
    for (const { log } of this.#finished.values())
      sizes.set(log.key.userId, (sizes.get(log.key.userId) ?? 0) + sizeOf(log));
    const [userId] = largest(sizes, ([, size]) => size);
    this.#dropOldest(userId);
  }

  /** Drops the finished run that ended first, of all users or of one. Returns false if there is none. */
  #dropOldest(userId?: string): boolean {
    for (const [name, { log }] of this.#finished)
      if (userId === undefined || log.key.userId === userId) return this.drop(name);
    return false;
  }

  /** Sets one timer for all finished runs, for the expiry of the oldest. The timer does not keep the process alive. */
  #sweepIn(delayMs: number): void {
    this.#isSweepSet = true;
    const sweep = (): void => {
      this.#isSweepSet = false;
      for (const { endedMs } of this.#finished.values()) {
        const leftMs = endedMs + this.#limits.keepRunsMs - this.#platform.now();
        if (leftMs > 0) return this.#sweepIn(leftMs);
        this.#dropOldest();
      }
    };
    this.#platform.schedule(delayMs, sweep, { idle: true });
  }
}

/** Returns the item with the highest rank. The items must not be empty. */
function largest<T>(items: Iterable<T>, rankOf: (item: T) => number): T {
  return Array.from(items).reduce((best, item) => (rankOf(item) > rankOf(best) ? item : best));
}

/**
 * Returns the name of a run within a process. It includes the session, because forked or imported sessions may have
 * runs with the same ids. Ids contain no NUL.
 */
export function runName({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
}

export function isSameSession(one: SessionKey, { appName, userId, sessionId }: SessionKey): boolean {
  return one.sessionId === sessionId && one.userId === userId && one.appName === appName;
}
