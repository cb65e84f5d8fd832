import { type Platform } from '@eventloom/core';
import { type OptionNames, checkKnown } from '@eventloom/core/internal';

/**
 * A platform that stands still: time moves when the test says so, ids count up, timers run in `advance`. One without a delay needs
 * no time to pass: it runs when the event loop has its turn.
 */
export interface FixedPlatform extends Platform {
  /** Moves the clock and runs the timers that fall due on the way, in the order they are due. */
  advance(ms: number): void;
  /** Resolves to the remaining time of the next timer, in milliseconds; waits until the code under test sets one. */
  nextTimer(): Promise<number>;
  /** The timers that have not run and were not called off. */
  readonly pendingTimers: number;
  /** Settles when all work handed to `background` has, also what it started meanwhile. @throws the first of its failures */
  drain(): Promise<void>;
}

/** The initial state of a fixed platform. */
export interface FixedPlatformOptions {
  /** Milliseconds since the epoch. Default: 2026-01-01T00:00:00Z. */
  readonly now?: number;
}

const OPTIONS: OptionNames<FixedPlatformOptions> = { now: true };

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A clock, ids, timers and background work under the test's control. */
export function fixedPlatform(options: FixedPlatformOptions = {}): FixedPlatform {
  checkKnown('fixedPlatform', OPTIONS, options);
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
      // Its failure is told by `drain`; here it only must not count as unhandled.
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
