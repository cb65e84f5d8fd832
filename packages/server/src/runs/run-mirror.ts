import { type BaseSessionService, type EventloomError, type Platform, SessionNotFoundError } from '@eventloom/core';
import { RunGoesOnError, RunNotBegunError, RunNotFoundError } from '../errors.ts';
import { eventPosition, offsetOf, type RunLog } from './run-log.ts';
import type { LogMirror, RelayEnd, RunFrame } from './run-relay.ts';
import { copyEnd, readNotBegun, storedFrames } from './stored-frames.ts';

/** Parameters of a `RunMirror`. */
interface RunMirrorParams {
  /** The log that gets the frames. */
  readonly log: RunLog;
  /** The sessions of the run. */
  readonly service: BaseSessionService;
  readonly platform: Platform;
  /** Called with each failure to read the session. */
  readonly report: (error: unknown) => void;
}

/**
 * Copies the frames of a run of another process into a log of this process. A relay loses frames, for example those
 * that a killed process had stored and not published. The stored events among them are read from the session before
 * later frames are added, and so is the end of a run whose process was lost.
 */
export class RunMirror implements LogMirror {
  readonly #params: RunMirrorParams;
  /** Settles when the session was read and all frames so far are in the log. Undefined while there is nothing to wait for. */
  #reading: Promise<void> | undefined;
  /** The log has all stored frames up to this position. */
  #filledPosition = 0;

  constructor(params: RunMirrorParams) {
    this.#params = params;
  }

  mirror(frames: readonly RunFrame[], gonePosition: number): void {
    const { log } = this.#params;
    if (this.#reading || this.#lacksFramesBefore(gonePosition))
      this.#queue(() => this.#fillAndCopy(frames, gonePosition));
    else if (!log.end) log.copy(frames);
  }

  mirrorEnded(end: RelayEnd): void {
    const { log } = this.#params;
    if (end.kind === 'lost') this.#queue(() => this.#endFromSession(end.error));
    else if (this.#reading) this.#queue(async () => log.endWith({ kind: 'copied' }));
    else if (!log.end) log.endWith({ kind: 'copied' });
  }

  /** True if frames before this position are missing. */
  #lacksFramesBefore(gonePosition: number): boolean {
    return gonePosition > Math.max(this.#params.log.lastPosition, this.#filledPosition);
  }

  /** Does the work after all earlier work, unless the log has ended by then. */
  #queue(work: () => Promise<void>): void {
    const { log, platform, report } = this.#params;
    const reading: Promise<void> = (this.#reading ?? Promise.resolve()).then(async () => {
      try {
        if (!log.end) await work();
      } catch (error) {
        report(error);
        const isDeleted = SessionNotFoundError.isInstance(error);
        const failure = isDeleted ? runNotFound(log.key, log.invocationId) : openError();
        if (!log.end) log.endWith({ kind: 'continues', failure });
      }
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
    platform.background(reading);
  }

  async #fillAndCopy(frames: readonly RunFrame[], gonePosition: number): Promise<void> {
    const { log, service } = this.#params;
    if (this.#lacksFramesBefore(gonePosition)) {
      const { key, invocationId, lastPosition } = log;
      const stored = await service.findRun({ ...key, id: invocationId });
      // Missing chunks are superseded by the event after them, which is not stored yet.
      if (!stored || gonePosition > eventPosition(offsetOf(gonePosition))) return this.#endFromSession(openError());
      for await (const page of storedFrames(service, key, stored, lastPosition, gonePosition)) log.copy(page);
      this.#filledPosition = gonePosition;
    }
    log.copy(frames);
  }

  /** Ends the log: with the stored events if the run has ended, otherwise with this error. */
  async #endFromSession(error: EventloomError): Promise<void> {
    const { log, service, report } = this.#params;
    const { key, invocationId } = log;
    try {
      const stored = await service.findRun({ ...key, id: invocationId });
      if (!stored) log.endWith({ kind: 'continues', failure: runNotFound(key, invocationId) });
      else if (stored.open) {
        const isNotBegun = await readNotBegun(service, key, stored);
        log.endWith({ kind: 'continues', failure: isNotBegun ? notBegun(invocationId) : error });
      } else {
        await copyEnd(service, log, stored);
        log.endWith({ kind: 'copied' });
      }
    } catch (failure) {
      report(failure);
    }
    if (!log.end) log.endWith({ kind: 'continues', failure: error });
  }
}

/** Says to a client why the stream of a run ended before the run. */
export const RUN_IS_OPEN = 'the run has not ended, and its further events cannot be read here yet';

/** Creates the error that ends the stream of a run before the run. */
export function openError(): RunGoesOnError {
  return new RunGoesOnError(`${RUN_IS_OPEN}; follow it again`);
}

/** Creates the error for a run or a request that is recorded, and whose message is not stored. */
export function notBegun(id: string): RunNotBegunError {
  return new RunNotBegunError(`the message of ${id} is not stored yet; follow it again`);
}

/** Creates the error for a run that the session does not have. */
export function runNotFound({ sessionId }: RunLog['key'], invocationId: string): RunNotFoundError {
  return new RunNotFoundError(
    `session ${JSON.stringify(sessionId)} has no run ${JSON.stringify(invocationId)}, or does not exist; GET the sessions of the user to find it`,
  );
}
