import type { EventloomError, Platform } from '@eventloom/core';
import type { HostedRun } from './hosted-run.ts';
import { within } from './within.ts';

/** What an aborted run may take to put things away. */
export const GRACE_MS = 1000;

/**
 * Brings runs to an end: half of the time they may finish, then each stops at its next commit, and at the end of the time at once.
 * Settles at the latest one second after the time; what has not ended by then is left to itself.
 */
export async function drainRuns(
  platform: Platform,
  runs: readonly HostedRun[],
  timeoutMs: number,
  reason: EventloomError,
): Promise<void> {
  const each = (act: (run: HostedRun) => void) => (): void => {
    for (const run of runs) if (!run.isEnded) act(run);
  };
  const callsOff = [
    platform.schedule(
      timeoutMs / 2,
      each((run) => run.stopAtCommit(reason)),
    ),
    platform.schedule(
      timeoutMs,
      each((run) => run.abort(reason)),
    ),
  ];
  await within(platform, Promise.all(runs.map((run) => run.ended)), timeoutMs + GRACE_MS);
  for (const callOff of callsOff) callOff();
}
