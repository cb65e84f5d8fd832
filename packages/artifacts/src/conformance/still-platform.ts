import { type Platform, systemPlatform } from '@eventloom/core';

/** 2026-01-02T03:04:05Z, in milliseconds: where the clock stands at first. */
const START_MS = 1_767_323_045_000;

/** A platform whose clock stands still until it is moved. All else is the system's. */
export interface StillPlatform extends Platform {
  advance(ms: number): void;
}

export function createStillPlatform(): StillPlatform {
  let nowMs = START_MS;
  return {
    ...systemPlatform,
    now: () => nowMs,
    advance(ms) {
      nowMs += ms;
    },
  };
}
