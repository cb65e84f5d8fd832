import type { SessionKey } from './session.ts';

/**
 * A resumable run that was begun and is not over: it is under way, or its process ended before it did. A session has at most one.
 */
export interface OpenRun extends SessionKey {
  readonly invocationId: string;
  /**
   * How often a lease was taken for it, those left out that were released `uncounted`: 1 for a run that is under way for the first time,
   * more for one whose processes were lost.
   */
  readonly attempts: number;
  /**
   * Until when somebody holds the session, unless they renew; milliseconds since the epoch. A time that has come, or 0: nobody does,
   * and the run was left.
   */
  readonly heldUntilMs: number;
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
