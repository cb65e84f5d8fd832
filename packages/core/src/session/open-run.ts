import type { SessionKey } from './session-key.ts';

/** Number of attempts at a run, the first one included, after which it is no longer resumed. */
export const MAX_RUN_ATTEMPTS = 3;

/** The state of an open run. */
export interface OpenRunState {
  /** True if the run can be resumed after its process was lost. Other runs are closed instead. */
  readonly resumable: boolean;
  /**
   * Number of times that the run was begun or resumed, without those that were released `without-attempt`: 1 during the first
   * attempt, more for a run whose processes were lost.
   */
  readonly attempts: number;
  /**
   * Time until which the run's lease holds the session, unless it is renewed, in milliseconds since the epoch. A time in the
   * past, or 0: no process works on the run.
   */
  readonly heldUntilMs: number;
}

/**
 * Returns the reason to close an open run that its process left, in place of resuming it. Undefined for a run to resume.
 * @param maxAttempts number of attempts after which a run is given up
 */
export function faultOfLostRun(
  { resumable, attempts }: OpenRunState,
  maxAttempts: number = MAX_RUN_ATTEMPTS,
): string | undefined {
  if (!resumable) return 'the run lost its process or its storage before it ended, and it is not resumable';
  if (attempts < maxAttempts) return undefined;
  return `the run was given up after attempt ${attempts}: each attempt lost its process or its storage`;
}

/**
 * A run that was begun and has not ended: it is in progress, or its process ended first. A session has at most one.
 *
 * The store and the events each record a part of a run's state. A run is open according to its record in the store:
 *
 * | the run                       | record in the store       | its events (resumable run)            | a message with answers  |
 * | ----------------------------- | ------------------------- | ------------------------------------- | ----------------------- |
 * | is in progress                | `open`, its lease is held | no `runner.end`                       | waits for the session   |
 * | was left by its process       | `open`, no lease          | no `runner.end`                       | continues it            |
 * | waits for an answer           | `end`: `completed`        | no `runner.end`, a call without result | continues it           |
 * | has ended                     | `end`                     | `runner.end`                          | starts a new run        |
 *
 * `Calls.canContinue` is true for the first three rows of a resumable run. A run that is not resumable never has `runner.end`: it ends when
 * its record does, and answers to its calls start a new run. Only the server reports `waiting` as a state of its own: see `readRunState`.
 */
export interface OpenRun extends SessionKey, OpenRunState {
  readonly invocationId: string;
}

/**
 * The outcome of a run. `completed`: it ended normally, or waits for an answer. `failed`: it ended with an
 * error. `interrupted`: it was aborted, cancelled or abandoned.
 */
export interface RunOutcome {
  readonly state: 'completed' | 'failed' | 'interrupted';
  /** The code of the error that ended the run: the `errorCode` of its error event. At most 256 bytes. */
  readonly code?: string | undefined;
}

/** The end of a run. */
export interface EndedRunState extends RunOutcome {
  /** Sequence number, in the session, of the last event that was stored before the run released its lease. */
  readonly lastSeq: number;
}

/**
 * The record of one run of a session. A request that was cancelled before its run began has one too: `invocationId` is the request id, and
 * its `end` is before its first event, `end.lastSeq < firstSeq`.
 */
export interface RunRecord {
  readonly invocationId: string;
  /** Sequence number, in the session, of the run's first event, which is the user's message. */
  readonly firstSeq: number;
  /** Present while the run is open: see `OpenRun`. */
  readonly open?: OpenRunState;
  /**
   * Present if the run has ended with a recorded outcome, also while it is open again because a later attempt continues it. Absent for
   * runs of an imported session, whose outcomes are not known.
   */
  readonly end?: EndedRunState;
}

/** Parameters of `findRun` and `cancelRequest`. */
export interface FindRunRequest extends SessionKey {
  /** The run's invocation id, or a request id that it was begun or continued with. */
  readonly id: string;
}

/** True for the record of a request that was cancelled before its run began. */
export function isCancelledRequest({ firstSeq, end }: RunRecord): boolean {
  return end !== undefined && end.lastSeq < firstSeq;
}

/** Parameters of `listOpenRuns`. The runs of an app are sorted by user id, then by session id. */
export interface ListOpenRunsRequest {
  readonly appName: string;
  /** Maximum number of runs. Default and upper limit: 1,000. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the previous page. Absent: the first page. */
  readonly cursor?: string | undefined;
}

/** A page of open runs. */
export interface ListOpenRunsResponse {
  readonly runs: OpenRun[];
  /** Cursor of the next page. Absent on the last page. */
  readonly nextCursor?: string;
}

/** Yields the open runs of an app, sorted as by `listOpenRuns`. Pages are read on demand. @param limit the size of a page */
export async function* openRuns(
  service: { listOpenRuns(request: ListOpenRunsRequest): Promise<ListOpenRunsResponse> },
  appName: string,
  limit?: number,
): AsyncGenerator<OpenRun, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await service.listOpenRuns({ appName, limit, cursor });
    yield* page.runs;
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
