import type { EventloomError, Platform, SessionKey } from '@eventloom/core';

/**
 * The events of a run as JSON text, numbered from 1; of a run that is resumed from a number that is higher than all it had before.
 * The oldest may be gone; the others keep their numbers.
 */
export interface RunEventLog {
  /** The number of the oldest event that is kept; one past the last when none is. */
  readonly firstSeq: number;
  /** The number of the newest event; `firstSeq - 1` while there is none. */
  readonly lastSeq: number;
  /** Characters of the events that are kept. */
  readonly chars: number;
  /** The event with this number; undefined when it is gone, or not there yet. It holds no line break. */
  at(seq: number): string | undefined;
}

/** A run of this process, as a relay tells other processes of it. */
export interface RelayedRun {
  readonly key: SessionKey;
  readonly invocationId: string;
  readonly buffer: RunEventLog;
  /** True for a run that goes on and begins by telling all that it committed before. */
  readonly isRetold: boolean;
  /** True when no event comes any more. */
  readonly isEnded: boolean;
  /** What a reader is told behind the last event of a run that failed: JSON of `{error, code}`. */
  readonly failureText: string | undefined;
}

/** An event of a run as JSON text, with its number. */
export interface NumberedEvent {
  readonly seq: number;
  readonly text: string;
}

/**
 * What readers of a run that goes on are told before the events of its last attempt: what it committed in those before, with the numbers
 * it had, from behind the event with this number. Undefined when there is none, or it is told anew. @throws RunEventsGoneError
 */
export type ReadEarlier = (afterSeq: number) => Iterator<NumberedEvent> | undefined;

/** What the relay of a run is told by the run's host. None of it throws, and none of it waits. */
export interface RunPublication {
  /** Settles when every process can find the run, or when an attempt to tell them failed. Never rejects. */
  readonly announced: Promise<void>;
  /** The ids of committed events that readers are told by `earlier`: the run does not tell them anew. */
  readonly told?: ReadonlySet<string>;
  readonly earlier?: ReadEarlier;
  /**
   * There are more events, or the run ended. The relay looks at the run itself, when it likes.
   * @param isCommitted true when the newest event is in the session: it will not be said anew by a run that is resumed
   */
  notify(isCommitted: boolean): void;
  /** Nobody may find the run any more. Who follows it is still told of its end. */
  forget(): void;
}

/** Why a run is to be ended by its host: `cancel` is a user's wish, `forget` comes with the end of its session. */
export type RunStop = 'cancel' | 'forget';

/** The server that hosts runs and follows others', as its relay sees it. */
export interface RelayHost {
  readonly platform: Platform;
  /** How long a run can still be read after its end, in milliseconds. */
  readonly keepRunsMs: number;
  /** Told of what the relay could not do. */
  report(error: unknown): void;
  /** Ends a run of this process, and forgets it with `forget`, also when it ended already. One that is not here is no error. */
  stop(invocationId: string, stop: RunStop): void;
}

/**
 * How a followed run ended. `ended`: as it did on its host, with `failureText` behind its last event when it failed. `lost`: it cannot be
 * followed any more, whatever became of it; `error` says why and what to do.
 */
export type RunEnd =
  | { readonly kind: 'ended'; readonly failureText: string | undefined }
  | { readonly kind: 'lost'; readonly error: EventloomError };

/** A run of another process, as it was when it was asked for. */
export interface RemoteRun {
  /** The number of the oldest event that is kept; one past the last when none is. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Undefined while the run goes on. */
  readonly end: RunEnd | undefined;
  readonly earlier?: ReadEarlier;
}

/** Who follows a run of another process. */
export interface RemoteRunFollower {
  /** The next events, the first of them with this number. When it is not the one that was due, those between are gone. */
  appended(firstSeq: number, texts: readonly string[]): void;
  /** Called once, after the last event; nothing comes any more. */
  ended(end: RunEnd): void;
}

/**
 * What the processes of one server tell each other of their runs: events while they happen and for a while after, and who wants
 * a run ended. It is no history: what it loses is in the session. A relay belongs to one server and is closed by whoever made
 * it, after the server was drained.
 *
 * A run is found under its session's key only. Numbers and texts of events are those of the host, so a reader can go from one
 * process to another with the number of the last event that came.
 */
export interface RunRelay {
  /** Called once, before anything else. @throws ConfigurationError when the relay belongs to another server */
  attach(host: RelayHost): void;
  /**
   * Tells the other processes of a run, from now to its end. The relay may fall behind, and the run never waits for it. A run that is
   * resumed takes the place of what was told of it before, by whichever process: it is published when it has its session. Of one that is
   * `isRetold` the relay may keep what was told: then it says so with `told` and `earlier`.
   */
  publish(run: RelayedRun): RunPublication;
  /** A run of this session that any process told of. Undefined: there is none, or not any more. @throws RunRelayError */
  find(key: SessionKey, invocationId: string): Promise<RemoteRun | undefined>;
  /**
   * The number of the last thing that readers of a run can have, where that is known at once: a run that goes on has higher ones. Without
   * it only the time tells its attempts apart, and two of them must not begin in the same second.
   */
  lastSeqOf?(key: SessionKey, invocationId: string): number | undefined;
  /** Follows a run that was found, from behind this event. The returned function leaves it: nothing comes any more. */
  follow(key: SessionKey, invocationId: string, afterSeq: number, follower: RemoteRunFollower): () => void;
  /** Asks the host of a run to end it. Settles when it is asked; a run that ended, or is unknown, is left alone. @throws RunRelayError */
  cancel(key: SessionKey, invocationId: string): Promise<void>;
  /**
   * Ends and forgets the runs of a session, finished ones too, wherever they are. Settles when those of other processes have ended, or
   * cannot be followed any more. @throws RunRelayError
   */
  forgetSession(key: SessionKey): Promise<void>;
}
