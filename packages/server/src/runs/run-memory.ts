import type { Platform } from '@eventloom/core';
import type { ServerLimits } from '../server-limits.ts';
import type { FollowedRun } from './followed-run.ts';
import type { HostedRun } from './hosted-run.ts';
import { KeptRuns } from './kept-runs.ts';

/**
 * The events that a server keeps of its runs. Bounded: finished runs go first, the oldest before the others; then the run that appends
 * loses its own oldest events.
 */
export class RunMemory {
  /** The finished runs that can still be read. */
  readonly kept: KeptRuns;
  readonly #limits: ServerLimits;
  /** Characters that are kept of all runs. */
  #chars = 0;

  constructor(platform: Platform, limits: ServerLimits) {
    this.#limits = limits;
    this.kept = new KeptRuns(platform, limits.keepRunsMs, (chars) => this.released(chars));
  }

  /** True when the runs in flight fill all there is. */
  get isFull(): boolean {
    return this.#chars - this.kept.chars >= this.#limits.maxKeptChars;
  }

  appended(run: FollowedRun, chars: number): void {
    this.#chars += chars;
    const { maxRunChars, maxKeptChars } = this.#limits;
    while (this.#chars > maxKeptChars && this.kept.forgetOldest());
    const { buffer } = run;
    // One event may be larger than the bound: whoever waits for it, or for what came before it, is not slow.
    const maxChars = maxRunChars + buffer.largestChars;
    while (buffer.count > 1 && (buffer.chars > maxChars || this.#chars > maxKeptChars)) {
      this.#chars -= buffer.dropOldest();
    }
  }

  /** A run ended: it can be read for a while. */
  keep(run: HostedRun): void {
    const { maxKeptRuns, maxKeptChars } = this.#limits;
    if (maxKeptRuns === 0) {
      this.released(run.buffer.chars);
      return;
    }
    this.kept.add(run);
    while (this.kept.size > maxKeptRuns) this.kept.forgetOldest();
    while (this.kept.size > 1 && this.kept.chars > maxKeptChars / 4) this.kept.forgetOldest();
  }

  /** So many characters are not kept any more. */
  released(chars: number): void {
    this.#chars -= chars;
  }
}
