import type { Platform } from '@eventloom/core';
import type { ServerLimits } from '../server-limits.ts';
import type { RunLog } from './run-log.ts';

/** The logs of one user, and the characters that they keep. */
interface UserLogs {
  readonly logs: Set<RunLog>;
  chars: number;
}

/**
 * The memory for the logs of a process, and the finished runs that are kept in it for a while. What all logs keep together is bounded, those
 * included that are read to their end after nothing else refers to them. When the bound is reached, the user whose logs keep most gives way:
 * first that user's finished runs, the oldest before the others, and then the largest log loses its oldest frames.
 */
export class RunMemory {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  /** Finished runs in the order they ended, and when they did. */
  readonly #finished = new Map<string, { readonly log: RunLog; readonly endedMs: number }>();
  readonly #users = new Map<string, UserLogs>();
  /** Characters of all logs, and of those that are finished. */
  #chars = 0;
  #finishedChars = 0;
  #isSweepSet = false;

  constructor(platform: Platform, limits: ServerLimits) {
    this.#platform = platform;
    this.#limits = limits;
  }

  /** The finished runs that are kept. */
  get finished(): RunLog[] {
    return Array.from(this.#finished.values(), ({ log }) => log);
  }

  /** Returns a finished run. */
  find(name: string): RunLog | undefined {
    return this.#finished.get(name)?.log;
  }

  /** Counts characters that a log keeps from now on, and makes room for them; characters that it drops are negative. */
  count(log: RunLog, chars: number): void {
    const { userId } = log.key;
    const own = this.#users.get(userId);
    if (own) {
      own.logs.add(log);
      own.chars += chars;
    } else {
      this.#users.set(userId, { logs: new Set([log]), chars });
    }
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.#limits;
    if (chars > 0 && (this.#chars > maxKeptChars || log.chars > maxRunChars)) this.#makeRoom(log);
  }

  /** Stops to count a log. */
  forget(log: RunLog): void {
    const { userId } = log.key;
    const own = this.#users.get(userId);
    if (!own?.logs.delete(log)) return;
    own.chars -= log.chars;
    this.#chars -= log.chars;
    if (own.logs.size === 0) this.#users.delete(userId);
  }

  /** Drops frames until what is kept is within the limits. The newest frame of the log that grew stays: its readers have not had it yet. */
  #makeRoom(grown: RunLog): void {
    const { maxRunChars, maxKeptChars } = this.#limits;
    // One frame may be larger than the bound: a reader that waits for it, or for what came before it, is not slow.
    while (grown.count > 1 && grown.chars > maxRunChars + grown.largestChars) grown.dropOldest();
    while (this.#chars > maxKeptChars) {
      const [userId, { logs }] = largest(this.#users, ([, { chars }]) => chars);
      if (this.#dropOldest(userId)) continue;
      const log = largest(logs, ({ chars }) => chars);
      if (log === grown && log.count === 1) return;
      // By halves, so that the largest is searched for a few times, however small the frames are.
      const enough = log.chars / 2;
      while (this.#chars > maxKeptChars && log.chars > enough && (log !== grown || log.count > 1)) log.dropOldest();
    }
  }

  /** Keeps a finished run for `limits.keepRunsMs`, unless newer runs need the room. A log that is kept under the name stays. */
  keep(name: string, log: RunLog): void {
    if (this.#finished.has(name)) return log.release();
    const { maxKeptRuns, maxKeptChars, keepRunsMs } = this.#limits;
    this.#finished.set(name, { log, endedMs: this.#platform.now() });
    this.#finishedChars += log.chars;
    while (this.#finished.size > maxKeptRuns) this.#dropOldest();
    while (this.#finished.size > 1 && this.#finishedChars > maxKeptChars / 4) this.#dropOldest();
    if (!this.#isSweepSet && this.#finished.size > 0) this.#sweepIn(keepRunsMs);
  }

  /** Drops a finished run. False when it is not kept. */
  drop(name: string): boolean {
    const log = this.find(name);
    if (!log) return false;
    this.#finished.delete(name);
    this.#finishedChars -= log.chars;
    log.release();
    return true;
  }

  /** Drops the finished run that ended first, of all users or of one. False when there is none. */
  #dropOldest(userId?: string): boolean {
    for (const [name, { log }] of this.#finished)
      if (userId === undefined || log.key.userId === userId) return this.drop(name);
    return false;
  }

  /** Sets one timer for all finished runs: it waits for the oldest, and does not keep a process alive. */
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

/** Returns the item with the highest rank. There is one at least. */
function largest<T>(items: Iterable<T>, rankOf: (item: T) => number): T {
  return Array.from(items).reduce((best, item) => (rankOf(item) > rankOf(best) ? item : best));
}
