import type { Event } from '../event/event.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Session, SessionKey } from './session.ts';
import type { SessionRecord } from './session-record.ts';
import type { FindRunRequest, ListOpenRunsRequest, ListOpenRunsResponse, RunOutcome, RunRecord } from './open-run.ts';
import type { ListRunWebhooksRequest, PutRunWebhookRequest, RunWebhook, RunWebhookChange } from './run-webhook.ts';
import type { AcquireLeaseRequest, LeaveOpen, ReleaseLeaseOptions, SessionLease } from './session-lease.ts';
import type { ToolLedgerEntry } from './tool-ledger.ts';

/** Creates a session. */
export interface CreateSessionRequest {
  readonly appName: string;
  readonly userId: string;
  /** A new one is made up when absent. */
  readonly sessionId?: string | undefined;
  /** Initial state, split into its scopes by prefix. `temp:` keys are dropped. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
}

/** Selects events of a session. An index finds them; the other events are not read. */
export interface GetSessionConfig {
  /** Only the newest so many; 0 gives none. */
  readonly numRecentEvents?: number | undefined;
  /** Only events at or after this time, in seconds since the epoch. */
  readonly afterTimestamp?: number | undefined;
  /** Only events with a higher sequence number. */
  readonly afterSeq?: number | undefined;
  /** Only events with a lower sequence number. */
  readonly beforeSeq?: number | undefined;
  /**
   * Only what counts since the last compaction: the events that hold a compaction, and the events later than the latest end of
   * what any of these covers. All events when the session has no compaction. Which compactions there are does not depend on the
   * other conditions.
   */
  readonly sinceCompaction?: boolean | undefined;
}

/** Reads a page of a session's events. */
export interface ListEventsRequest extends SessionKey {
  /** `asc` (default) begins with the oldest event, `desc` with the newest. */
  readonly order?: 'asc' | 'desc' | undefined;
  /** At most so many; default 100, maximum 1,000. A page of large events may be shorter and have a cursor all the same. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before, of the same session and order. */
  readonly cursor?: string | undefined;
}

/** A page of events. */
export interface ListEventsResponse {
  /** In the order that was asked for. */
  readonly events: Event[];
  /** Present when there are more. */
  readonly nextCursor?: string;
}

/** Stores an exported session again. */
export interface ImportSessionRequest {
  /** The records that `exportSession` returned: the header, the events in append order, the tool calls, the end. */
  readonly records: AsyncIterable<SessionRecord> | Iterable<SessionRecord>;
  /** Another app than the exported one. */
  readonly appName?: string | undefined;
  /** Another user than the exported one. */
  readonly userId?: string | undefined;
  /** Another id than the exported one. */
  readonly sessionId?: string | undefined;
}

/** Reads one session. */
export interface GetSessionRequest extends SessionKey {
  readonly config?: GetSessionConfig | undefined;
}

/** Lists sessions, newest update first. */
export interface ListSessionsRequest {
  readonly appName: string;
  /** All of the app's users when absent. */
  readonly userId?: string | undefined;
  /** At most so many; default and maximum 1,000. A page with much state may be shorter and have a cursor all the same. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of sessions: with their merged state, without events. */
export interface ListSessionsResponse {
  readonly sessions: Session[];
  /** Present when there are more. */
  readonly nextCursor?: string;
}

/** Appends one event. */
export interface AppendEventRequest {
  /** Brought up to date by the call: its `events`, `state`, `lastSeq` and `lastUpdateTime`. */
  readonly session: Session;
  readonly event: Event;
  /** The lease of a run. Without one, the append takes a lease for itself, as a run would. */
  readonly lease?: SessionLease | undefined;
  /**
   * Keys in the event's `stateDelta` and `removedState` that earlier events of the session changed already. They are stored in the event
   * and not applied again: another session may have changed them since. Default: none.
   */
  readonly repeatedState?: ReadonlySet<string> | undefined;
}

/** Begins a run. */
export interface BeginRunRequest extends AcquireLeaseRequest {
  /** The run that the lease is for. It becomes the session's open run. */
  readonly invocationId: string;
  /** The caller's own id for its request: a second begin with it is refused, unless it is of the same run. At most 256 bytes. */
  readonly requestId?: string | undefined;
  /** True if the run can be resumed after its process was lost. Default false. Ignored when an open run is continued. */
  readonly resumable?: boolean | undefined;
  /** Continues a run of the session, which may be open or not, and is refused for any other. Default false: a new run. */
  readonly continues?: boolean | undefined;
  /** Creates the session, without state, if it does not exist. Default false. */
  readonly create?: boolean | undefined;
  /** Selects the events before the message that are read. Default: all of them. */
  readonly read?: GetSessionConfig | undefined;
  /**
   * The event to append first. Absent when the run appends none, or has to read the session before it makes one. A timestamp of 0
   * becomes the time of the append, which may be long after the call when the session is busy; a timestamp within what the
   * session's compactions cover becomes the next one after that.
   */
  readonly message?: Event | undefined;
}

/** A run that holds its session. */
export interface BegunRun {
  readonly lease: SessionLease;
  /** The events that were asked for, then the message, with the state that it leads to. */
  readonly session: Session;
  /** The message as it is stored; undefined when none was given. */
  readonly message: Event | undefined;
  /** The session's sequence number of the run's first event: that of the message, or of the next event, for a new run. */
  readonly firstSeq: number;
  /** True if the run was the session's open run already. */
  readonly wasOpen: boolean;
}

/** Ends a run. */
export interface EndRunRequest {
  /** Brought up to date by the call, as by `appendEvent`. */
  readonly session: Session;
  /** Appended before the session is released. */
  readonly event?: Event | undefined;
  /** Default false: the run has ended. */
  readonly leaveOpen?: LeaveOpen | undefined;
  /** The outcome of the run, recorded in the transaction that appends the event: see `ReleaseLeaseOptions`. */
  readonly outcome?: RunOutcome | undefined;
}

/** Names the tool calls of one invocation. */
export interface ListToolCallsRequest extends SessionKey {
  readonly invocationId: string;
}

/**
 * Stores sessions: what every back end promises, and what the conformance suite in `@eventloom/sessions/conformance` checks.
 *
 * An append is one transaction: the event, the state it changes in every scope and the session's time are stored together or not
 * at all. `temp:` keys are applied to the session object that was handed in and stored nowhere. Partial events are never stored.
 * Different sessions never wait for each other.
 *
 * The methods that a run calls return a value or a promise: a back end that can answer at once does, and a turn then waits for
 * nothing. The same holds for their errors, which are thrown at once or reject the promise: `await` the call inside the `try`.
 *
 * Every method throws StorageError when the storage cannot be used: it cannot be reached, does not answer in time, is full or is locked.
 * The call may have had its effect all the same. An append, a ledger entry, a renewal, a release and the end of a run can be repeated as they
 * are: what happened already is not done twice.
 */
export abstract class BaseSessionService {
  /**
   * Creates a session and returns it with its merged state.
   * @throws SessionAlreadyExistsError when the id is taken; nothing is changed
   * @throws InvalidRequestError for an empty, over-long or NUL-holding name or id
   * @throws StateKeyError and StateValueError for state that cannot be stored; nothing is changed
   * @throws SizeLimitError for a value that is larger than the back end stores; nothing is changed
   */
  abstract createSession(request: CreateSessionRequest): Promise<Session>;

  /** The session, or undefined when it does not exist. What is returned is the caller's own: changing it changes nothing stored. */
  abstract getSession(request: GetSessionRequest): MaybePromise<Session | undefined>;

  /**
   * Counts the events of a window that together have at most this many bytes as JSON: its newest with
   * `numRecentEvents`, otherwise its oldest; at least 1. Ignores the times of the window. Call it before a window is
   * read that may not fit into memory. Absent in back ends with enough memory.
   */
  countWithin?(request: GetSessionRequest, maxBytes: number): Promise<number>;

  /**
   * Reads a session like `getSession`, but without its state. Call it where only the events matter. Absent in back ends
   * where reading state is cheap.
   */
  getWithoutState?(request: GetSessionRequest): MaybePromise<Session | undefined>;

  /**
   * A page of the sessions of a user or an app.
   * @throws InvalidRequestError for a cursor that this service did not give, or a limit that is no positive integer
   */
  abstract listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse>;

  /**
   * Returns a page of the session's events, without its state. Consecutive pages contain every event once, also while
   * events are appended: new events come last in `asc`, and not at all in `desc`.
   * @throws SessionNotFoundError, also if the session was deleted since the previous page, even if it was created again
   * @throws InvalidRequestError for a cursor that this service did not return, or a limit that is not a positive
   * integer
   */
  abstract listEvents(request: ListEventsRequest): Promise<ListEventsResponse>;

  /**
   * Everything that is stored of a session, as of one moment, in records that `importSession` takes: a header with its state, its
   * events in append order, its tool calls, and an end. Events are read in pages: a long session is never in memory at once.
   * What was saved as artifacts is not in it.
   *
   * The moment is that of the first read. The generator throws SessionNotFoundError, also when the session is deleted before all
   * of its events were read.
   */
  abstract exportSession(key: SessionKey): AsyncGenerator<SessionRecord, void, undefined>;

  /**
   * Stores an exported session, in one transaction, so that reading it gives what was exported. Of the app's and the user's state
   * only keys are written that are not there. A time of the last update that is still to come, by a clock that was ahead, is now.
   * The session has no lease and no open run; its runs and their requests are known by the ids in its events. The records are read to their end before anything is stored, so one session is in memory as a
   * whole; an error of their own is passed on.
   * @throws SessionAlreadyExistsError when the id is taken; nothing is changed
   * @throws InvalidRequestError for records that are cut off, out of order or not what an export gives, events that `appendEvent`
   * refuses among them; it names the record by its number, from 1, and the field; nothing is changed
   * @throws SizeLimitError when one of them is larger than the back end stores; nothing is changed
   */
  abstract importSession(request: ImportSessionRequest): Promise<Session>;

  /** Removes the session with its events, state, lease, runs, webhooks and ledger. The user's and the app's state stay. Absent: a no-op. */
  abstract deleteSession(request: SessionKey): Promise<void>;

  /**
   * Appends an event and returns it as stored (without `temp:` keys). If the session has an event with this id, nothing
   * is changed and the stored event is returned. A partial event is returned unchanged and not stored. The returned
   * event, also in the session object, is a frozen copy; the given event is not modified.
   * @throws SessionNotFoundError, also if the session was deleted and created again
   * @throws StaleWriterError if the lease no longer holds the session; nothing is changed
   * @throws SessionBusyError without a lease, if the session stays busy
   * @throws StateKeyError and StateValueError for a delta that cannot be stored; nothing is changed
   * @throws InvalidEventError for an event that is not JSON, or with a known field of another type; a known field that
   * is null counts as absent, and unknown fields are stored; nothing is changed
   * @throws InvalidRequestError for an id, InvalidArtifactNameError for a name in `artifactDelta`, that cannot be
   * stored
   * @throws SizeLimitError for an event or a value that is larger than the back end stores; nothing is changed
   */
  abstract appendEvent(request: AppendEventRequest): MaybePromise<Event>;

  /**
   * Takes the session for a run, records the run, reads the session and appends the message, in one transaction. While the session is
   * busy the call waits as `acquireLease` does, outside of any transaction. Of several callers that create one session, one creates
   * it and all get it, one after the other.
   *
   * The run becomes the session's open run, and stays that until its lease is released, unless that leaves it open, or until the session
   * is deleted. A new run and its `requestId` are known to `findRun` from then on. Safe to repeat with the same ids: a message whose id
   * is stored already is not appended again, and the run gets the stored event.
   *
   * @throws RequestKnownError at once when `requestId` is known as that of another run; nothing is changed
   * @throws RunNotFoundError at once with `continues`, when the session has no such run; nothing is changed
   * @throws UnfinishedRunError when another run is open in the session, once the lease could be had: after the wait with `onBusy:
   * 'queue'`, at once with `interrupt`; nothing is changed, and who holds the session keeps it
   * @throws SessionNotFoundError without `create`
   * @throws whatever `acquireLease` and `appendEvent` throw; nothing is changed then: no session created, no lease given, no run open
   */
  abstract beginRun(request: BeginRunRequest): MaybePromise<BegunRun>;

  /**
   * Appends the run's last event, if there is one, and releases the session, in one transaction: `appendEvent` and
   * `releaseLease` in one call. Returns the event as `appendEvent` does. Safe to repeat: once the event is stored, the
   * call changes nothing and returns it, whatever lease holds the session by then. Without an event, and with a lease
   * that no longer holds the session, it is a no-op.
   * @throws the errors of `appendEvent`; nothing is changed then, and the run keeps the session
   */
  abstract endRun(lease: SessionLease, request: EndRunRequest): MaybePromise<Event | undefined>;

  /**
   * Takes the session for writing.
   * @throws SessionNotFoundError
   * @throws SessionBusyError when it is held (`reject`), was held for longer than `waitMs`, or 1,000 callers of this service wait
   * for it already (`queue`)
   * @throws RunAbortedError when the signal fires while waiting
   * @throws InvalidRequestError for a `ttlMs` that is not positive, or a `waitMs` that is negative or longer than a day
   */
  abstract acquireLease(request: AcquireLeaseRequest): Promise<SessionLease>;

  /** Keeps the lease for another `ttlMs`. @throws StaleWriterError when it is no longer the session's */
  abstract renewLease(lease: SessionLease): MaybePromise<void>;

  /** Lets the next one in, and ends the run that the lease was for. Releasing a lease that is no longer the session's is a no-op. */
  abstract releaseLease(lease: SessionLease, options?: ReleaseLeaseOptions): MaybePromise<void>;

  /** Finds a run of the session. Undefined for an id that is not known, and for a session that does not exist. */
  abstract findRun(request: FindRunRequest): MaybePromise<RunRecord | undefined>;

  /**
   * A page of the app's open runs, resumable or not. A lease for no run, and an append without a lease, leave them as they are.
   * @throws InvalidRequestError for a cursor that this service did not give, or a limit that is no positive integer
   */
  abstract listOpenRuns(request: ListOpenRunsRequest): Promise<ListOpenRunsResponse>;

  /**
   * Records the start or the end of a tool call. A finished call stays as it is.
   * @throws StaleWriterError when the lease is no longer the session's
   * @throws SizeLimitError for a response that is larger than the back end stores; nothing is changed
   */
  abstract recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<void>;

  /**
   * Stores a webhook with its run, with no attempts. It takes the place of an earlier one of the same run and URL, and goes with its session.
   * Safe to repeat with the same id.
   * @throws RunNotFoundError when the session does not have the run, or does not exist; nothing is changed
   */
  abstract putRunWebhook(request: PutRunWebhookRequest): MaybePromise<void>;

  /** The webhooks of an app, in the order of `dueMs`. @throws InvalidRequestError for a limit that is no positive integer */
  abstract listRunWebhooks(request: ListRunWebhooksRequest): MaybePromise<RunWebhook[]>;

  /**
   * Changes a webhook that is still as it was listed, or removes it when `change` is undefined. False, with nothing changed, when it is
   * gone or somebody else changed it since: so of several processes one makes an attempt.
   */
  abstract changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): MaybePromise<boolean>;

  /** The tool calls of an invocation, in the order they started. */
  abstract listToolCalls(request: ListToolCallsRequest): MaybePromise<ToolLedgerEntry[]>;

  /**
   * The session, made when it is not there. With several callers at once, one makes it and the others get that one; `state` is
   * used only by the one that makes it.
   */
  async getOrCreateSession(request: CreateSessionRequest & { readonly sessionId: string }): Promise<Session> {
    const existing = await this.getSession(request);
    if (existing) return existing;
    try {
      return await this.createSession(request);
    } catch (error) {
      const other = await this.getSession(request);
      if (other) return other;
      throw error;
    }
  }
}
