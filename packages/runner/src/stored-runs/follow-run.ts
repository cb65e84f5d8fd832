import { type RequestKnownError, RunAbortedError, type RunOutcome } from '@eventloom/core';
import { eventPages, goneError, isYielded, readStreamed } from '@eventloom/core/internal';
import type { CountedEvent } from '../chunk-shortcut.ts';
import { COMPLETED } from '../run-end.ts';
import type { RunRequest } from '../run-request.ts';
import type { RunControl } from '../run-control.ts';
import type { Runner } from '../runner.ts';
import { endOpenRun } from './end-open-run.ts';
import { untilFree } from './known-request.ts';

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
): AsyncGenerator<CountedEvent, RunOutcome, undefined> {
  const { sessionService } = runner;
  const { signal } = control.abort;
  let seq: number | undefined;
  let isAfterMessage = false;
  for (;;) {
    // Read before the events: once the run has ended, all of them are there.
    const record = await sessionService.findRun({ ...key, id: invocationId });
    if (!record) throw goneError(key);
    if (seq === undefined) control.noteBegun(record);
    seq ??= record.firstSeq - 1;
    for await (const page of eventPages(sessionService, key, { afterSeq: seq })) {
      for (const [index, event] of page.events.entries()) {
        seq = page.seq + index;
        if (event.invocationId !== invocationId) continue;
        isAfterMessage ||= event.requestId === requestId;
        if (!isAfterMessage) continue;
        const yielded = isYielded(event)
          ? event
          : await readStreamed(sessionService, key, event, page.events, page.seq);
        if (!yielded) continue;
        yield control.advanceTo(yielded, seq);
      }
    }
    if (!record.open) return record.end ?? COMPLETED;
    if (signal?.aborted) throw new RunAbortedError('aborted while it followed the run', { cause: signal.reason });
    const run = { ...key, invocationId, ...record.open };
    const config = { onOpenRun: 'finish', busyWaitMs } as const;
    if (run.heldUntilMs > runner.platform.now()) await untilFree(sessionService, key, signal);
    else await endOpenRun(runner, run, { config, bounds }, signal);
  }
}
