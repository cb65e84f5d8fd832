import type { EventloomError, Platform, SessionKey } from '@eventloom/core';

/** One frame of a run: an event, or the failure of the run, as JSON text without line breaks. */
export interface RunFrame {
  /**
   * The place of the frame in the run: an integer, higher than those of all frames before it. The same in every process, and in the next
   * process that answers the frame from the session.
   */
  readonly position: number;
  readonly json: string;
}

/** A run of this process, as a relay reads it. */
export interface RelayedLog {
  readonly key: SessionKey;
  readonly invocationId: string;
  /** The id of the request that began the run, if the caller gave one: the run is found by it, too. */
  readonly requestId: string | undefined;
  /** The epoch of the lease that the run holds: of two processes that publish one run, the higher one has it. 0 until it is known. */
  readonly attempt: number;
  /** All frames behind this position are kept. */
  readonly gonePosition: number;
  /** The position of the newest frame, or of the beginning if there is none. */
  readonly lastPosition: number;
  /** Characters of the frames that are kept. */
  readonly chars: number;
  /** True when no frame comes any more. */
  readonly isEnded: boolean;
  /** The reason for which this log has ended although the run continues elsewhere or later; undefined for a run that ended. */
  readonly leftOpen: EventloomError | undefined;
  /** The kept frames behind a position, in order, until these are so many characters; at least one if there is one. */
  framesAfter(position: number, maxChars: number): readonly RunFrame[];
}

/** Tells a relay what became of a log that it publishes. None of it throws, and none of it waits. */
export interface RunPublication {
  /** Resolves when every process can find the run, or when publishing it failed. Never rejects. */
  readonly announced: Promise<void>;
  /** Says that there are more frames, or that the log ended. The relay reads the log at a time of its choice. */
  notify(): void;
  /** Makes the run impossible to find. Its current followers still get its end. */
  forget(): void;
}

/** The reason that a host is asked to end a run: `cancel` by a user, `forget` because its session is deleted. */
export type RunStop = 'cancel' | 'forget';

/** The server that hosts runs and follows others', as its relay sees it. */
export interface RelayHost {
  readonly platform: Platform;
  /** The time for which a run can be read after its end, in milliseconds. */
  readonly keepRunsMs: number;
  /** Reports what the relay could not do. */
  report(error: unknown): void;
  /** Ends a run of this process, and forgets it with `forget`, also when it has ended. One that is not here is no error. */
  stop(key: SessionKey, invocationId: string, stop: RunStop): void;
}

/**
 * The end of a run that is followed. `ended`: it is over, and the last frame is its outcome. `lost`: it cannot be followed any more, whatever
 * became of it; `error` says why. The session then decides.
 */
export type RelayEnd = { readonly kind: 'ended' } | { readonly kind: 'lost'; readonly error: EventloomError };

/** A run of another process, as it was when it was asked for. */
export interface RemoteRun {
  readonly invocationId: string;
  readonly attempt: number;
  /** All frames behind this position can be followed. */
  readonly gonePosition: number;
  readonly lastPosition: number;
  /** Undefined while the run is under way. */
  readonly end: RelayEnd | undefined;
}

/** The copy of a log that a relay writes, for the readers of this process. */
export interface LogMirror {
  /**
   * The next frames, in order.
   * @param gonePosition frames up to this position are no longer kept
   */
  mirror(frames: readonly RunFrame[], gonePosition: number): void;
  /** Called once, after the last frame; nothing comes any more. */
  mirrorEnded(end: RelayEnd): void;
}

/**
 * Replicates the logs of runs between the processes of one server: frames while they are made and for a while after, and who wants a
 * run ended. It is no history: what it loses is in the session, with the same positions. A relay belongs to one server and is closed
 * by its owner, after the server was drained. `runRelayConformance` of `@eventloom/server/conformance` checks what is promised here.
 *
 * A run is found under its session's key only.
 */
export interface RunRelay {
  /** Called once, before anything else. @throws ConfigurationError when the relay belongs to another server */
  attach(host: RelayHost): void;
  /**
   * Tells the other processes of a log, from now to its end. The relay may fall behind, and the run never waits for it. A log of a later
   * attempt replaces what any process published of the run before; an earlier attempt is ignored.
   */
  publish(log: RelayedLog): RunPublication;
  /**
   * Returns a run of this session that any process published; undefined if there is none.
   * @param id the run's invocation id, or the id of the request that began it; the run with this invocation id comes first
   * @throws RunRelayError
   */
  find(key: SessionKey, id: string): Promise<RemoteRun | undefined>;
  /** Copies the frames of a run that was found behind a position into a mirror. The returned function ends that: nothing comes any more. */
  follow(key: SessionKey, invocationId: string, afterPosition: number, mirror: LogMirror): () => void;
  /** Asks the host of a run to end it. Settles when it is asked; a run that ended, or is unknown, is left alone. @throws RunRelayError */
  cancel(key: SessionKey, invocationId: string): Promise<void>;
  /**
   * Ends and forgets the runs of a session, finished ones too, wherever they are. Settles when those of other processes have ended, or
   * cannot be followed any more. @throws RunRelayError
   */
  forgetSession(key: SessionKey): Promise<void>;
}
