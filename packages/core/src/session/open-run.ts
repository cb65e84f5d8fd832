import type { SessionKey } from './session.ts';

/** The state of an open run. */
export interface OpenRunState {
  /** True if the run can be resumed after its process was lost. Other runs are closed instead. */
  readonly resumable: boolean;
  /**
   * Number of times that the run was begun or resumed, without those that were released `uncounted`: 1 during the first
   * attempt, more for a run whose processes were lost.
   */
  readonly attempts: number;
  /**
   * Until when somebody holds the session, unless they renew; milliseconds since the epoch. A time that has come, or 0: nobody does,
   * and the run was left.
   */
  readonly heldUntilMs: number;
}

/**
 * A run that was begun and has not ended: it is under way, or its process ended before it did. A session has at most one. A run that
 * waits for an answer has ended its work, and is not open.
 */
export interface OpenRun extends SessionKey, OpenRunState {
  readonly invocationId: string;
}

/**
 * The outcome of a run. `completed`: it came to its end, though calls may still wait for answers. `failed`: with an error. `interrupted`: it was
 * aborted, cancelled or given up.
 */
export interface RunOutcome {
  readonly state: 'completed' | 'failed' | 'interrupted';
  /** The code of the error that ended the run: the `errorCode` of its error event. At most 256 bytes. */
  readonly code?: string | undefined;
}

/** The end of a run. */
export interface EndedRunState extends RunOutcome {
  /** The session's sequence number of the last event that was stored before the run gave its session back. */
  readonly lastSeq: number;
}

/** The record of one run of a session. */
export interface RunRecord {
  readonly invocationId: string;
  /** The session's sequence number of the run's first event, which is the user's message. */
  readonly firstSeq: number;
  /** Present while the run is open. */
  readonly open?: OpenRunState;
  /** Present when the run has ended and said how. Absent for a run of an imported session, and for one from before ends were recorded. */
  readonly end?: EndedRunState;
}

/** Names a run of a session. */
export interface FindRunRequest extends SessionKey {
  /** The run's invocation id, or a request id that it was begun or continued with. */
  readonly id: string;
}

/** Lists open runs, by user id and session id. */
export interface ListOpenRunsRequest {
  readonly appName: string;
  /** At most so many; default and maximum 1,000. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of open runs. */
export interface ListOpenRunsResponse {
  readonly runs: OpenRun[];
  /** Present when there are more. */
  readonly nextCursor?: string;
}
