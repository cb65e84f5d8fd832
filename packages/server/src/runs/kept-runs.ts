import type { Platform } from '@eventloom/core';
import { nameOfRun } from './followed-run.ts';
import type { HostedRun } from './hosted-run.ts';

/** The finished runs that can still be read, in the order they ended. */
export class KeptRuns {
  readonly #platform: Platform;
  readonly #keepRunsMs: number;
  readonly #onForget: (chars: number) => void;
  readonly #kept = new Map<string, { readonly run: HostedRun; readonly endedMs: number }>();
  #chars = 0;
  #isSweepSet = false;

  /** @param onForget told of the characters of each run that is forgotten */
  constructor(platform: Platform, keepRunsMs: number, onForget: (chars: number) => void) {
    this.#platform = platform;
    this.#keepRunsMs = keepRunsMs;
    this.#onForget = onForget;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Characters of all events of these runs. */
  get chars(): number {
    return this.#chars;
  }

  /** @param name as `nameOfRun` gives it */
  get(name: string): HostedRun | undefined {
    return this.#kept.get(name)?.run;
  }

  values(): HostedRun[] {
    return Array.from(this.#kept.values(), ({ run }) => run);
  }

  add(run: HostedRun): void {
    this.#kept.set(nameOfRun(run.key, run.invocationId), { run, endedMs: this.#platform.now() });
    this.#chars += run.buffer.chars;
    this.#setSweep();
  }

  /** False when there is none. */
  forgetOldest(): boolean {
    const [oldest] = this.#kept.values();
    if (oldest) this.forget(oldest.run);
    return oldest !== undefined;
  }

  forget(run: HostedRun): void {
    if (!this.#kept.delete(nameOfRun(run.key, run.invocationId))) return;
    this.#chars -= run.buffer.chars;
    this.#onForget(run.buffer.chars);
  }

  /** One timer for all of them: it waits for the oldest. */
  #setSweep(): void {
    const [oldest] = this.#kept.values();
    if (this.#isSweepSet || !oldest) return;
    this.#isSweepSet = true;
    const sweep = (): void => {
      this.#isSweepSet = false;
      const now = this.#platform.now();
      for (const { run, endedMs } of this.#kept.values()) {
        if (endedMs + this.#keepRunsMs > now) break;
        this.forget(run);
      }
      this.#setSweep();
    };
    // A process that has nothing else to do ends.
    this.#platform.schedule(Math.max(0, oldest.endedMs + this.#keepRunsMs - this.#platform.now()), sweep, {
      idle: true,
    });
  }
}
