import {
  type Event,
  type RequestKnownError,
  RunAbortedError,
  type RunOutcome,
  type SessionKey,
  SessionNotFoundError,
} from '@eventloom/core';
import { isYielded, readStreamed, readWithoutState } from '@eventloom/core/internal';
import { COMPLETED } from '../event-committer.ts';
import type { RunRequest } from '../run-request.ts';
import type { RunControl } from '../run-control.ts';
import type { Runner } from '../runner.ts';
import { endOpenRun } from './end-open-run.ts';
import { untilFree } from './known-request.ts';

/** Number of events per read. */
const PAGE = 100;
/** Interval at which the session of a run in another process is read, in milliseconds. */
const READ_EVERY_MS = 500;

/**
 * Yields the stored events of the run that a request began earlier, from the request's message on, until the run has
 * ended, possibly in another process. A run whose process ended is resumed to its end, or closed if it cannot be
 * resumed.
 *
 * @returns the outcome of the run
 * @throws SessionNotFoundError if the session is deleted in the meantime
 * @throws RunAbortedError if the reader aborts; the run continues
 */
export async function* followRun(
  runner: Runner,
  { key, config: { requestId, busyWaitMs }, bounds }: RunRequest,
  control: RunControl,
  { invocationId }: RequestKnownError,
): AsyncGenerator<Event, RunOutcome, undefined> {
  const { sessionService } = runner;
  const { signal } = control;
  let seq: number | undefined;
  let isAfterMessage = false;
  for (;;) {
    // Read before the events: once the run has ended, all of them are there.
    const record = await sessionService.findRun({ ...key, id: invocationId });
    if (!record) throw goneError(key, invocationId);
    if (seq === undefined) control.noteBegun(record);
    seq ??= record.firstSeq - 1;
    for (let lastSeq = seq + 1; seq < lastSeq;) {
      const window = { ...key, config: { afterSeq: seq, beforeSeq: seq + PAGE + 1 } };
      const session = await readWithoutState(sessionService, window);
      if (!session) throw goneError(key, invocationId);
      ({ lastSeq } = session);
      const firstSeq = seq + 1;
      for (const event of session.events) {
        seq++;
        if (event.invocationId !== invocationId) continue;
        isAfterMessage ||= event.requestId === requestId;
        if (!isAfterMessage) continue;
        const yielded = isYielded(event)
          ? event
          : await readStreamed(sessionService, key, event, session.events, firstSeq);
        if (!yielded) continue;
        yield control.advanceTo(yielded, seq);
      }
      if (session.events.length === 0) break;
    }
    if (!record.open) return record.end ?? COMPLETED;
    if (signal?.aborted) throw new RunAbortedError('aborted while it followed the run', { cause: signal.reason });
    const run = { ...key, invocationId, ...record.open };
    const config = { onOpenRun: 'finish', busyWaitMs } as const;
    if (run.heldUntilMs > runner.platform.now()) await untilFree(sessionService, key, READ_EVERY_MS, signal);
    else await endOpenRun(runner, run, { config, bounds }, signal);
  }
}

function goneError({ userId, sessionId }: SessionKey, invocationId: string): SessionNotFoundError {
  return new SessionNotFoundError(
    `session ${JSON.stringify(sessionId)} of user ${JSON.stringify(userId)}: was deleted while its run ${invocationId} was followed`,
  );
}
