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

/** The record of one run of a session. */
export interface RunRecord {
  readonly invocationId: string;
  /** The session's sequence number of the run's first event, which is the user's message. */
  readonly firstSeq: number;
  /** Present while the run is open. */
  readonly open?: OpenRunState;
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
