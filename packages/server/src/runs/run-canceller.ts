import {
  EventloomError,
  type RunRecord,
  SessionBusyError,
  type SessionKey,
  StaleWriterError,
  StorageError,
  UnfinishedRunError,
} from '@eventloom/core';
import { isCancelledRequest, within } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { RunRelayError } from '../errors.ts';
import type { ActiveRun } from './active-run.ts';
import type { RunHub, RunHubOptions } from './run-hub.ts';
import { runNotFound } from './run-mirror.ts';
import type { RelayEnd, RemoteRun, RunRelay } from './run-relay.ts';
import { readWaitingCalls } from './run-state.ts';

/** The parts of a Runner that cancel a run. */
type CancellingRunner = Pick<Runner, 'cancelRun' | 'sessionService'>;

/** Maximum number of attempts at a cancellation while other requests take the session. */
const MAX_TRIES = 5;

/**
 * Cancels the runs of a server. Asks where a run is in the same order as `RunFollower`:
 *
 * 1. This process: is the run active here?
 * 2. The session: does it have the run, or a run of the request?
 * 3. This process and the relay: does the request wait for its session?
 * 4. The memory of this process: did the request end here before its run began? This comes last, because a client may have sent the request
 *    again, and another process may have begun its run.
 *
 * A request that waits is recorded in its session as cancelled, so that no copy of it begins, in whichever process it waits.
 */
export class RunCanceller {
  readonly #hub: RunHub;
  readonly #options: RunHubOptions;
  readonly #relay: RunRelay | undefined;

  constructor(hub: RunHub, options: RunHubOptions) {
    this.#hub = hub;
    this.#options = options;
    this.#relay = options.relay;
  }

  /**
   * Ends a run of this session in any process. The process of the run has a short time to end it. After that, the end is stored in the
   * run's session, which takes the session from that process. A run that waits for answers ends, and takes none any more. Does not change
   * an ended run.
   *
   * @returns true if the run has ended; false if it was asked to end, but waits for its session
   * @throws RunNotFoundError
   * @throws RunRelayError for a run that cannot be asked to end, which continues
   * @throws StorageError if the end cannot be stored
   * @throws SessionBusyError, UnfinishedRunError if the run waits for answers, and another run has its session
   */
  async cancel(runner: CancellingRunner, key: SessionKey, id: string): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#cancel(runner, key, id);
      } catch (error) {
        // Another request took the session, for example an answer, or a further cancellation; or its process left a run in it.
        const isTaken = StaleWriterError.isInstance(error) || UnfinishedRunError.isInstance(error);
        if (!isTaken || tries === MAX_TRIES) throw mayContinueError(error);
      }
    }
  }

  /** @param endedCopy the invocation id of a copy of the request that waited and has ended */
  async #cancel(runner: CancellingRunner, key: SessionKey, id: string, endedCopy?: string): Promise<boolean> {
    const own = this.#hub.inFlightRun(key, id);
    if (own && !own.waitsToContinue) return this.#cancelOwn(runner, own);
    // Ends the attempts to resume the run that wait for its session, such as answers to its calls.
    await Promise.all(this.#hub.waitingToContinue(key, id).map((run) => this.#cancelOwn(runner, run)));
    const stored = await runner.sessionService.findRun({ ...key, id });
    if (stored && stored.invocationId !== id) return this.#cancel(runner, key, stored.invocationId);
    const isCancelled = stored !== undefined && isCancelledRequest(stored);
    if (stored && !isCancelled) return this.#cancelRecorded(runner, key, stored);
    const request = this.#hub.inFlightRequest(key, id);
    // Further copies of the request may wait, and the run of one may have begun in the meantime.
    if (request) {
      const { invocationId } = request.log;
      return (await this.#cancelOwn(runner, request)) && this.#cancel(runner, key, id, invocationId);
    }
    const remote = await this.#hub.findWaiting(key, id);
    if (remote && remote.invocationId !== endedCopy) {
      const hasEnded = await this.#cancelElsewhere(runner, remote, key);
      return hasEnded && this.#cancel(runner, key, id, remote.invocationId);
    }
    if (endedCopy !== undefined && !isCancelled) {
      // A copy that the relay does not know yet may have begun, or may begin.
      const recorded = await runner.sessionService.cancelRequest({ ...key, id });
      if (recorded && !isCancelledRequest(recorded)) return this.#cancel(runner, key, recorded.invocationId);
    }
    if (isCancelled || endedCopy !== undefined || this.#hub.findRefused(key, id)) return true;
    const known = await this.#relay?.find(key, id);
    if (known?.end?.kind === 'ended' && known.invocationId === id) return true;
    throw runNotFound(key, id);
  }

  /** Cancels a run that the session has. The process of an open run has a short time to end it. */
  async #cancelRecorded(runner: CancellingRunner, key: SessionKey, stored: RunRecord): Promise<boolean> {
    const { invocationId, open } = stored;
    if (!open) return this.#cancelStored(runner, key, stored);
    const own = this.#hub.inFlightRun(key, invocationId);
    if (own && !own.waitsToContinue) return this.#cancelOwn(runner, own);
    const remote = await this.#relay?.find(key, invocationId);
    return remote && !remote.end && remote.invocationId === invocationId
      ? this.#cancelElsewhere(runner, remote, key)
      : this.#cancelStored(runner, key, stored);
  }

  async #cancelOwn(runner: CancellingRunner, run: ActiveRun): Promise<boolean> {
    const { log, key } = run;
    run.cancel();
    await within(this.#options.platform, log.ended, this.#options.limits.respondAfterMs);
    // The session still has an open run if its end could not be stored, or its agent takes long to close. A run that has ended may have
    // calls that wait for answers.
    const { end } = log;
    const isInSession = end?.kind === 'continues' || (run.hasBegun && end?.kind !== 'deleted');
    // The message may be stored, or its client may send it again.
    if (!isInSession && StorageError.isInstance(end?.failure))
      throw new StorageError('the storage did not answer the start or the cancellation of the run', {
        cause: end.failure,
      });
    if (!isInSession) return end !== undefined;
    const { invocationId } = log;
    const stored = await runner.sessionService.findRun({ ...key, id: invocationId });
    if (!stored) throw runNotFound(key, invocationId);
    // A copy of the request began the run in another process.
    return run.hasBegun ? this.#cancelStored(runner, key, stored) : this.#cancelRecorded(runner, key, stored);
  }

  /**
   * Cancels a run that is not active in this process: stores its end in its session. A process that still holds the session loses it, so
   * that no process can continue the run. A run that waits for answers ends as well, and no later message can answer its calls.
   */
  async #cancelStored(runner: CancellingRunner, key: SessionKey, stored: RunRecord): Promise<boolean> {
    const { invocationId, open, end } = stored;
    if (open) {
      const { report } = this.#options;
      const params = { userId: key.userId, sessionId: key.sessionId, invocationId };
      try {
        // Interrupts also an attempt that resumes the run meanwhile: no process is to continue it.
        await runner.cancelRun({ ...params, onBusy: 'interrupt' });
      } catch (error) {
        // Another process took the session, probably to cancel the run as well.
        if (StaleWriterError.isInstance(error)) await runner.cancelRun(params);
        // A session with another open run shows that this run has ended.
        else if (!UnfinishedRunError.isInstance(error)) throw error;
      }
      // A process that took the run over in the meantime still works on it.
      await this.#relay?.cancel(key, invocationId).catch(report);
    } else {
      const { ids, isEndUndone } = await readWaitingCalls(runner.sessionService, this.#options.platform, key, stored);
      if (ids.length > 0 && (end?.state !== 'failed' || isEndUndone)) {
        await this.#cancelWaiting(runner, key, stored);
      } else if ((await runner.sessionService.findRun({ ...key, id: invocationId }))?.open) {
        // An answer was stored after the record was read, and continues the run.
        return this.#cancel(runner, key, invocationId);
      }
    }
    return true;
  }

  /**
   * Ends a run that waits for answers. The session's other runs end first, also one that its process left, and so does
   * an earlier answer.
   */
  async #cancelWaiting(runner: CancellingRunner, key: SessionKey, { invocationId }: RunRecord): Promise<void> {
    const params = { userId: key.userId, sessionId: key.sessionId, invocationId };
    try {
      await runner.cancelRun({ ...params, onBusy: 'reject' });
    } catch (error) {
      const { platform, limits } = this.#options;
      if (UnfinishedRunError.isInstance(error))
        await within(platform, this.#hub.unfinished.finish(error.run), limits.respondAfterMs);
      else if (!SessionBusyError.isInstance(error)) throw error;
      if ((await runner.sessionService.findRun({ ...key, id: invocationId }))?.open)
        await this.#cancel(runner, key, invocationId);
      else await runner.cancelRun(params);
    }
  }

  async #cancelElsewhere(
    runner: CancellingRunner,
    { invocationId, lastPosition }: RemoteRun,
    key: SessionKey,
  ): Promise<boolean> {
    const relay = this.#relay;
    if (!relay) return false;
    await relay.cancel(key, invocationId);
    const ended = Promise.withResolvers<void>();
    let end: RelayEnd | undefined;
    const mirrorEnded = (relayEnd: RelayEnd): void => {
      end = relayEnd;
      ended.resolve();
    };
    const stopFollowing = relay.follow(key, invocationId, lastPosition, { mirror: () => undefined, mirrorEnded });
    await within(this.#options.platform, ended.promise, this.#options.limits.respondAfterMs);
    stopFollowing();
    // The process may have died, or does not answer: the session decides. A run that waits there, or whose process died before it stored
    // anything, is not in the session. A run that has ended may have calls that wait for answers.
    const stored = await runner.sessionService.findRun({ ...key, id: invocationId });
    return stored ? this.#cancelStored(runner, key, stored) : end !== undefined;
  }
}

/**
 * Adds to the error of a failed cancellation that the run may continue: only this process knows that it was cancelled, and another process
 * resumes the run if this one ends. Returns other errors unchanged.
 */
function mayContinueError(error: unknown): unknown {
  const type = [StorageError, RunRelayError].find((one) => one.isInstance(error));
  if (!type || !EventloomError.isInstance(error)) return error;
  const { message, publicMessage, retryable, cause } = error;
  const advice = '; the end of the run is not stored, so the run may continue: cancel it again';
  return new type(message + advice, { cause, retryable, publicMessage: publicMessage + advice });
}
