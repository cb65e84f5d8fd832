import { type Platform } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';

/**
 * A platform for tests whose clock moves only in `advance`, which also runs the timers. Ids are numbered in order, and random numbers are
 * all 0.5. A timer without a delay runs without `advance`, in the next turn of the event loop. Two fixed platforms create the same ids, so
 * runners that share a store also share the platform.
 */
export interface FixedPlatform extends Platform {
  /** Moves the clock by this number of milliseconds, and runs the timers that become due, in the order of their time. */
  advance(ms: number): void;
  /** Waits until a timer is set. Resolves to the remaining time of the next timer, in milliseconds. */
  nextTimer(): Promise<number>;
  /** Number of timers that have neither run nor been cancelled. */
  readonly pendingTimers: number;
  /** Waits for all work that was given to `background`, including work that it starts meanwhile. @throws the first error of this work */
  drain(): Promise<void>;
}

/** Options of `fixedPlatform`. */
export interface FixedPlatformOptions {
  /** Initial time in milliseconds since the epoch. Default: 2026-01-01T00:00:00Z. */
  readonly now?: number;
}

const OPTIONS: OptionRules<FixedPlatformOptions> = { now: 'number' };

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** Creates a platform whose clock, ids, random numbers, timers and background work the test controls. */
export function fixedPlatform(options: FixedPlatformOptions = {}): FixedPlatform {
  checkOptions('fixedPlatform', OPTIONS, options);
  let nowMs = options.now ?? Date.UTC(2026, 0, 1);
  let events = 0;
  let uuids = 0;
  const timers = new Set<Timer>();
  const work: Promise<unknown>[] = [];
  let timerSet = Promise.withResolvers<void>();

  const nextDue = (): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) if (!next || timer.dueMs < next.dueMs) next = timer;
    return next;
  };

  return {
    now: () => nowMs,
    newEventId: () => `${hex(nowMs, 12).replace(/^.{8}/, '$&-')}-7000-8000-${hex(++events, 12)}`,
    newUuid: () => `00000000-0000-4000-8000-${hex(++uuids, 12)}`,
    random: () => 0.5,
    schedule(delayMs, callback) {
      const timer = { dueMs: nowMs + Math.max(0, delayMs), callback };
      timers.add(timer);
      timerSet.resolve();
      timerSet = Promise.withResolvers();
      if (delayMs <= 0) {
        setTimeout(() => {
          if (timers.delete(timer)) callback();
        });
      }
      return () => void timers.delete(timer);
    },
    background(promise) {
      // `drain` rethrows the error; this handler only prevents an unhandled rejection.
      promise.catch(() => undefined);
      work.push(promise);
    },
    advance(ms) {
      const endMs = nowMs + ms;
      for (let timer = nextDue(); timer && timer.dueMs <= endMs; timer = nextDue()) {
        timers.delete(timer);
        nowMs = timer.dueMs;
        timer.callback();
      }
      nowMs = endMs;
    },
    async nextTimer() {
      let timer = nextDue();
      while (!timer) {
        await timerSet.promise;
        timer = nextDue();
      }
      return timer.dueMs - nowMs;
    },
    get pendingTimers() {
      return timers.size;
    },
    async drain() {
      while (work.length > 0) await work.shift();
    },
  };
}

function hex(value: number, digits: number): string {
  return Math.floor(value).toString(16).padStart(digits, '0');
}
