import type { EventloomError, Platform, SessionKey } from '@eventloom/core';

/** One frame of a run: an event, or the error that ended the run, as JSON text without line breaks. */
export interface RunFrame {
  /**
   * Position of the frame in the run: higher than the positions of all earlier frames, and the same in every process and for a frame that
   * is read from the session.
   */
  readonly position: number;
  readonly json: string;
  /**
   * True for an event with what the user said, typed or answered: only streams with numbers have it. Absent in frames of a process, because
   * a log begins after the message of its run; the session has it.
   */
  readonly isOfUser?: boolean;
}

/** The log of a run of this process, for a relay to read. */
export interface RelayedLog {
  readonly key: SessionKey;
  readonly invocationId: string;
  /** Id of the request that began the run, by which it can be found as well; undefined if the caller gave none. */
  readonly requestId: string | undefined;
  /** Epoch of the run's lease; 0 until it is known. If two processes publish the same run, the one with the higher epoch counts. */
  readonly attempt: number;
  /** All frames after this position are kept. */
  readonly gonePosition: number;
  /** Position of the newest frame; the position at which the log begins if there is none. */
  readonly lastPosition: number;
  /** Number of characters of the kept frames. */
  readonly chars: number;
  /** True if the log has ended, so that no further frame follows. */
  readonly isEnded: boolean;
  /** Reason why the log ended although the run continues elsewhere or later; undefined for a run that has ended. */
  readonly earlyEnd: EventloomError | undefined;
  /** Returns the kept frames after a position, in order, up to `maxChars` characters, but at least one frame if there is one. */
  framesAfter(position: number, maxChars: number): readonly RunFrame[];
}

/** Reports changes of a published log to the relay. No method throws or waits. */
export interface RunPublication {
  /** Resolves once every process can find the run, or once publishing it has failed. Never rejects. */
  readonly announced: Promise<void>;
  /** Reports that there are new frames, or that the log has ended. The relay decides when to read them. */
  notify(): void;
  /** Removes the run, so that it can no longer be found. Its current followers still get its end. */
  forget(): void;
}

/** Reason why a process is asked to end a run: `cancel` if a user asks for it, `forget` if its session is deleted. */
export type RunStop = 'cancel' | 'forget';

/** The server of a relay: it hosts runs, and follows runs of other processes. */
export interface RelayHost {
  readonly platform: Platform;
  /** Time for which an ended run can be read, in milliseconds. */
  readonly keepRunsMs: number;
  /** Reports a failure of the relay. */
  report(error: unknown): void;
  /** Ends a run of this process. With `forget` also forgets the run, even if it has ended. Does nothing for an unknown run. */
  stop(key: SessionKey, invocationId: string, stop: RunStop): void;
}

/**
 * The end of following a run. `ended`: the run has ended, and the last frame is its outcome. `lost`: the run can no longer be followed,
 * for the reason in `error`; its outcome is in the session.
 */
export type RelayEnd = { readonly kind: 'ended' } | { readonly kind: 'lost'; readonly error: EventloomError };

/** A run of another process, as of the call of `find`. */
export interface RemoteRun {
  readonly invocationId: string;
  readonly attempt: number;
  /** All frames after this position can be followed. */
  readonly gonePosition: number;
  readonly lastPosition: number;
  /** The end of the run; undefined while it is in progress. */
  readonly end: RelayEnd | undefined;
}

/** A copy of another process's log, which a relay writes for the readers of this process. */
export interface LogMirror {
  /**
   * Adds the next frames, in order.
   * @param gonePosition frames up to this position are no longer kept
   */
  mirror(frames: readonly RunFrame[], gonePosition: number): void;
  /** Called once, after the last frame. No other call follows. */
  mirrorEnded(end: RelayEnd): void;
}

/**
 * Shares the logs of runs between the processes of one server: their frames, for some time after the end of the run, and requests to end a
 * run. A relay may lose frames, which are in the session with the same positions. A relay belongs to one server. Its owner closes it after
 * draining the server. `runRelayConformance` of `@eventloom/server/conformance` tests this contract.
 *
 * A run can be found only with the key of its session.
 */
export interface RunRelay {
  /**
   * Connects the relay with its server. Called once, before all other methods.
   * @throws ConfigurationError if the relay belongs to another server
   */
  attach(host: RelayHost): void;
  /**
   * Publishes a log to the other processes until its end. The relay may fall behind; the run never waits for it. The log of a later
   * attempt replaces the published log of an earlier one, also for its mirrors: frames before the later attempt that were never published
   * are reported to them as no longer kept. An earlier attempt is ignored.
   */
  publish(log: RelayedLog): RunPublication;
  /**
   * Returns a run of this session that a process has published; undefined if there is none.
   * @param id the run's invocation id, or the id of the request that began it; the run with this invocation id comes
   * first, then a run of the request that is in progress in another process: a client may send a request to several processes
   * @throws RunRelayError
   */
  find(key: SessionKey, id: string): Promise<RemoteRun | undefined>;
  /**
   * Copies the frames of a run after a position into a mirror, until the returned function is called. The mirror is not called after that.
   */
  follow(key: SessionKey, invocationId: string, afterPosition: number, mirror: LogMirror): () => void;
  /**
   * Asks the process of a run to end it. Resolves once the process is asked. Does nothing for a run that has ended or is unknown.
   * @throws RunRelayError
   */
  cancel(key: SessionKey, invocationId: string): Promise<void>;
  /**
   * Ends and forgets all runs of a session in all processes, including ended ones. Resolves once the runs of other processes have ended or
   * can no longer be followed.
   * @throws RunRelayError
   */
  forgetSession(key: SessionKey): Promise<void>;
}
