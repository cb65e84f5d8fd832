import {
  ConfigurationError,
  InvalidRequestError,
  type OpenRun,
  RunAbortedError,
  RunNotFoundError,
  ShuttingDownError,
  UnfinishedRunError,
} from '@eventloom/core';
import { faultOfLostRun, RUN_CONFIG_DEFAULTS } from '@eventloom/core/internal';
import type { RunAsyncParams, RunRequest } from '../run-request.ts';
import type { Runner } from '../runner.ts';
import { closeRun } from './close-run.ts';

/** Errors of a run that cannot be resumed. */
export const NOT_RESUMABLE = [InvalidRequestError, ConfigurationError, RunNotFoundError];

/**
 * Ends the open run that blocks another one, as `runConfig.onOpenRun` says: resumes it to its end, or closes it.
 *
 * @param abortSignal ends the attempt; a run that is being resumed then stays open
 */
export async function endOpenRun(
  runner: Runner,
  run: OpenRun,
  { config, bounds }: Pick<RunRequest, 'config' | 'bounds'>,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  const { onOpenRun = RUN_CONFIG_DEFAULTS.onOpenRun, onBusy, busyWaitMs } = config;
  let reason = 'the run did not end before another run of its session began';
  if (onBusy === 'interrupt') reason = 'another run of the session interrupted the run';
  else if (onOpenRun === 'finish') {
    const params = { runConfig: { onBusy, busyWaitMs, onOpenRun: 'reject' }, bounds } as const;
    const fault = faultOfLostRun(run, bounds?.maxRunAttempts) ?? (await finish(runner, run, params, abortSignal));
    if (fault === undefined) return;
    reason = fault;
  }
  const { userId, sessionId, invocationId } = run;
  try {
    await closeRun(runner, { userId, sessionId, invocationId, reason, onBusy, abortSignal });
  } catch (error) {
    // A session has at most one open run: this one ended while `closeRun` waited, and the next run reports the other
    // one.
    if (!UnfinishedRunError.isInstance(error)) throw error;
  }
}

/** Resumes a run to its end, even if that end is a failure. Returns the reason if the run cannot be resumed. */
async function finish(
  runner: Runner,
  { userId, sessionId, invocationId }: OpenRun,
  params: Pick<RunAsyncParams, 'runConfig' | 'bounds'>,
  abortSignal: AbortSignal | undefined,
): Promise<string | undefined> {
  // The run belongs to another caller: this caller may stop waiting for it, but must not abort it.
  const controller = new AbortController();
  const leave = (): void => controller.abort(new ShuttingDownError('the request that continued the run was abandoned'));
  abortSignal?.addEventListener('abort', leave, { once: true });
  try {
    const { signal } = controller;
    const stream = runner.runAsync({ ...params, userId, sessionId, invocationId, abortSignal: signal });
    for await (const _event of stream);
  } catch (error) {
    if (abortSignal?.aborted)
      throw new RunAbortedError('aborted while it resumed the open run of the session', {
        cause: abortSignal.reason,
      });
    for (const type of NOT_RESUMABLE)
      if (type.isInstance(error)) return `the run cannot be resumed: ${error.publicMessage}`;
    // Any other failure of that run is stored in the session, or the run is still open, which the next run reports.
  } finally {
    abortSignal?.removeEventListener('abort', leave);
  }
  return undefined;
}
