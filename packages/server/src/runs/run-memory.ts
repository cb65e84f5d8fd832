import type { Platform } from '@eventloom/core';
import type { ServerLimits } from '../server-limits.ts';
import type { RunLog } from './run-log.ts';

/**
 * The memory for the logs of a process, and the finished runs that are kept in it for a while. What all logs keep together is bounded:
 * finished runs give way first, the oldest before the others, and then the run that appends loses its own oldest frames.
 */
export class RunMemory {
  readonly #platform: Platform;
  readonly #limits: ServerLimits;
  /** Finished runs in the order they ended, and when they did. */
  readonly #finished = new Map<string, { readonly log: RunLog; readonly endedMs: number }>();
  /** Characters of all logs, and of those that are finished. */
  #chars = 0;
  #finishedChars = 0;
  #isSweepSet = false;

  constructor(platform: Platform, limits: ServerLimits) {
    this.#platform = platform;
    this.#limits = limits;
  }

  /** True when the runs in flight fill all of the memory. */
  get isFull(): boolean {
    return this.#chars - this.#finishedChars >= this.#limits.maxKeptChars;
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
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.#limits;
    if (chars < 0 || (this.#chars <= maxKeptChars && log.chars <= maxRunChars)) return;
    while (this.#chars > maxKeptChars && this.#dropOldest());
    // One frame may be larger than the bound: a reader that waits for it, or for what came before it, is not slow.
    const maxChars = maxRunChars + log.largestChars;
    while (log.count > 1 && (log.chars > maxChars || this.#chars > maxKeptChars)) log.dropOldest();
  }

  /** Stops to count a log that is read no more. */
  release(log: RunLog): void {
    this.#chars -= log.chars;
  }

  /** Keeps a finished run for `limits.keepRunsMs`, unless newer runs need the room. A log that is kept under the name stays. */
  keep(name: string, log: RunLog): void {
    if (this.#finished.has(name)) return this.release(log);
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
    this.release(log);
    return true;
  }

  #dropOldest(): boolean {
    for (const name of this.#finished.keys()) return this.drop(name);
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
