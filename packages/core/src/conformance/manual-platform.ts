import type { Platform } from '../platform/platform.ts';

/** 2026-01-02T03:04:05Z, in milliseconds: where a manual clock starts. */
const START_MS = 1_767_323_045_000;

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A platform whose clock stands still until a test advances it, whose ids are numbered, and whose random numbers are all 0.5. */
export class ManualPlatform implements Platform {
  #nowMs = START_MS;
  #ids = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#nowMs;
  }

  newEventId(): string {
    return `event-${++this.#ids}`;
  }

  newUuid(): string {
    return `uuid-${++this.#ids}`;
  }

  random(): number {
    return 0.5;
  }

  schedule(delayMs: number, callback: () => void): () => void {
    const timer = { dueMs: this.#nowMs + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  background(work: Promise<unknown>): void {
    work.catch(() => undefined);
  }

  /** Advances the clock and calls every timer that is due, in the order of their times. */
  advance(ms: number): void {
    const target = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ dueMs }) => dueMs <= target).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#nowMs = Math.max(this.#nowMs, due.dueMs);
      due.callback();
    }
    this.#nowMs = target;
  }
}
