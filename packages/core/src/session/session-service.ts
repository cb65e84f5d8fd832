import type { Event } from '../event/event.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Session } from './session.ts';
import type { SessionKey } from './session-key.ts';
import type { SessionRecord } from './session-record.ts';
import type { FindRunRequest, ListOpenRunsRequest, ListOpenRunsResponse, RunOutcome, RunRecord } from './open-run.ts';
import type { ListRunWebhooksRequest, PutRunWebhookRequest, RunWebhook, RunWebhookChange } from './run-webhook.ts';
import type { AcquireLeaseRequest, KeepRunOpen, ReleaseLeaseOptions, SessionLease } from './session-lease.ts';
import type { ToolLedgerEntry } from './tool-ledger.ts';

/** Parameters of `createSession`. */
export interface CreateSessionRequest {
  readonly appName: string;
  readonly userId: string;
  /** Id of the new session. Default: a new unique id. */
  readonly sessionId?: string | undefined;
  /** Initial state. The prefix of a key is its scope; `temp:` keys are dropped. Default: empty. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
}

/** Selects events of a session. All conditions have to hold. Back ends find the events by an index and read no others. */
export interface GetSessionConfig {
  /** Only the newest events, at most this many; 0 selects none. Default: no limit. */
  readonly numRecentEvents?: number | undefined;
  /** Only events at or after this time, in seconds since the epoch. */
  readonly afterTimestamp?: number | undefined;
  /** Only events with a higher sequence number. */
  readonly afterSeq?: number | undefined;
  /** Only events with a lower sequence number. */
  readonly beforeSeq?: number | undefined;
  /**
   * True selects only the events in use since the last compaction: the events that contain a compaction, and the events later
   * than the latest end of the compacted time ranges. Selects all events if the session has no compaction. The compactions are
   * found independently of the other conditions. Default false.
   */
  readonly sinceCompaction?: boolean | undefined;
}

/** Parameters of `listEvents`. */
export interface ListEventsRequest extends SessionKey {
  /** `asc` (default) begins with the oldest event, `desc` with the newest. */
  readonly order?: 'asc' | 'desc' | undefined;
  /** Maximum number of events. Default 100, upper limit 1,000. A page of large events may be shorter even if more events follow. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the previous page, of the same session and order. Absent: the first page. */
  readonly cursor?: string | undefined;
}

/** A page of events. */
export interface ListEventsResponse {
  /** Events in the requested order. */
  readonly events: Event[];
  /** Cursor of the next page. Absent on the last page. */
  readonly nextCursor?: string;
}

/** Parameters of `importSession`. */
export interface ImportSessionRequest {
  /** The records that `exportSession` returned: the header, the events in append order, the tool calls, the end. */
  readonly records: AsyncIterable<SessionRecord> | Iterable<SessionRecord>;
  /** App of the new session. Default: the exported one. */
  readonly appName?: string | undefined;
  /** User of the new session. Default: the exported one. */
  readonly userId?: string | undefined;
  /** Id of the new session. Default: the id of the exported session. */
  readonly sessionId?: string | undefined;
}

/** Parameters of `getSession`. */
export interface GetSessionRequest extends SessionKey {
  /** Selects the events to read. Default: all of them. */
  readonly config?: GetSessionConfig | undefined;
  /** Lease of the run that reads. Absent for a read of a program. */
  readonly lease?: SessionLease | undefined;
}

/** Parameters of `listSessions`. The session with the latest update comes first. */
export interface ListSessionsRequest {
  readonly appName: string;
  /** Lists only the sessions of this user. Default: those of all users of the app. */
  readonly userId?: string | undefined;
  /** Maximum number of sessions. Default and upper limit: 1,000. A page with much state may be shorter even if more sessions follow. */
  readonly limit?: number | undefined;
  /** `nextCursor` of the previous page. Absent: the first page. */
  readonly cursor?: string | undefined;
}

/** A page of sessions, with their merged state and without events. */
export interface ListSessionsResponse {
  readonly sessions: Session[];
  /** Cursor of the next page. Absent on the last page. */
  readonly nextCursor?: string;
}

/** Parameters of `appendEvent`. */
export interface AppendEventRequest {
  /** The session to append to. The call updates its `events`, `state`, `lastSeq` and `lastUpdateTime`. */
  readonly session: Session;
  readonly event: Event;
  /** Lease of the run that appends. Without it, the append acquires a lease for itself, and waits for it like a run. */
  readonly lease?: SessionLease | undefined;
  /**
   * Keys in the event's `stateDelta` and `removedState` that earlier events of the session changed already. The event is stored
   * with them, but they are not applied again, because another session may have changed them since. Default: none.
   */
  readonly repeatedState?: ReadonlySet<string> | undefined;
}

/** Parameters of `appendEvents`. */
export interface AppendEventsRequest extends Pick<AppendEventRequest, 'session'> {
  /** The events in the order in which they are appended. None of them is partial. */
  readonly appends: readonly Pick<AppendEventRequest, 'event' | 'repeatedState'>[];
  /** Lease of the run that appends. */
  readonly lease: SessionLease;
}

/** Parameters of `beginRun`. */
export interface BeginRunRequest extends AcquireLeaseRequest {
  /** The run that the lease is for. It becomes the session's open run. */
  readonly invocationId: string;
  /** The caller's own id for its request, at most 256 bytes. Another run with the same id is refused. Default: none. */
  readonly requestId?: string | undefined;
  /** True if the run can be resumed after its process was lost. Default false. Ignored when an open run is continued. */
  readonly resumable?: boolean | undefined;
  /**
   * Webhook of the run, stored in the same transaction, beside earlier ones of a run that continues: see
   * `putRunWebhook`. Default: none.
   */
  readonly webhook?: Pick<RunWebhook, 'id' | 'url'> | undefined;
  /** True continues an existing run of the session, open or ended. Default false: a new run. */
  readonly continues?: boolean | undefined;
  /**
   * Epoch of a lease of the session. The run begins only if no later lease was granted; it takes the session from that lease only with
   * `onBusy: 'interrupt'`. Default: any.
   */
  readonly lastEpoch?: number | undefined;
  /**
   * True creates the session, without state, if it does not exist. A session that is deleted during the wait is not
   * created. Default false.
   */
  readonly create?: boolean | undefined;
  /** Selects the events before the message that are read. Default: all of them. */
  readonly read?: GetSessionConfig | undefined;
  /**
   * Event to append first. Absent if the run appends none, or creates it only after it has read the session. A timestamp of 0 is
   * replaced with the time of the append, which is later than the call if the session is busy. A timestamp in a compacted time
   * range is replaced with the first one after the range.
   */
  readonly message?: Event | undefined;
}

/** Result of `beginRun`: a run that holds its session. */
export interface BegunRun {
  readonly lease: SessionLease;
  /** The session with the selected events, then the message, and with the state after the message. */
  readonly session: Session;
  /** The stored message; undefined if none was given. */
  readonly message: Event | undefined;
  /** Sequence number, in the session, of the run's first event. For a new run without a message: that of the next event. */
  readonly firstSeq: number;
  /** True if the run was the session's open run already. */
  readonly wasOpen: boolean;
}

/** Parameters of `endRun`. */
export interface EndRunRequest {
  /** The session of the run. The call updates it like `appendEvent`. */
  readonly session: Session;
  /** Event to append before the session is released. Absent: none. */
  readonly event?: Event | undefined;
  /** True keeps the run open, because it will be resumed. Default false: the run has ended. */
  readonly keepRunOpen?: KeepRunOpen | undefined;
  /** The outcome of the run, recorded in the transaction that appends the event: see `ReleaseLeaseOptions`. */
  readonly outcome?: RunOutcome | undefined;
}

/** Parameters of `listToolCalls`. */
export interface ListToolCallsRequest extends SessionKey {
  readonly invocationId: string;
}

/**
 * The contract of session services, which store conversations: their events, their state and their runs. Applications
 * call `createSession`, `getSession`, `listSessions`, `listEvents` and `deleteSession`; the runner calls the rest.
 * `InMemorySessionService` is for tests and first steps; `@eventloom/sessions` has services for SQLite and PostgreSQL.
 * For another storage write a `SessionDriver`, not a subclass.
 *
 * An append is one transaction: the event and the state that it changes are stored together or not at all. `temp:` keys
 * and partial events are never stored. Different sessions never wait for each other. The suite in
 * `@eventloom/sessions/conformance` checks everything that is stated here.
 *
 * Methods that a run calls return a value or a promise; a back end without I/O returns the value. Their errors are thrown
 * synchronously or reject the promise, so `await` the call inside the `try`.
 *
 * Every method throws StorageError if the storage cannot be reached, does not answer in time, is full or is locked. The
 * call may have taken effect nevertheless. `appendEvent`, `appendEvents`, `recordToolCall`, `renewLease`,
 * `releaseLease` and `endRun` are idempotent: repeat them with the same arguments.
 *
 * @example
 * const sessions: BaseSessionService = new InMemorySessionService();
 * const session = await sessions.createSession({ appName: 'app', userId: 'ada', state: { 'user:language': 'en' } });
 * const stored = await sessions.getSession({ appName: 'app', userId: 'ada', sessionId: session.id });
 */
export abstract class BaseSessionService {
  /**
   * True if all sessions are lost when the process ends, so that no other process can continue their runs: a server that shuts down then
   * stores the end of each run. Default false.
   */
  readonly endsWithProcess: boolean = false;

  /**
   * Creates a session and returns it with its merged state.
   * @throws SessionAlreadyExistsError if the id is in use; nothing is changed
   * @throws InvalidRequestError for a name or id that is empty, longer than 256 bytes, or contains NUL
   * @throws StateKeyError and StateValueError for state that cannot be stored; nothing is changed
   * @throws SizeLimitError for a value that is larger than the back end stores; nothing is changed
   */
  abstract createSession(request: CreateSessionRequest): Promise<Session>;

  /** Returns a session, or undefined if it does not exist. The result is a copy: changing it does not change the stored session. */
  abstract getSession(request: GetSessionRequest): MaybePromise<Session | undefined>;

  /**
   * Counts the events of a window that together have at most about this many bytes as JSON: its newest with
   * `numRecentEvents`, otherwise its oldest; at least 1. Ignores the times of the window. Call it before a window is
   * read that may not fit into memory. Undefined in a back end whose events are in memory already.
   */
  countWithin?(request: GetSessionRequest, maxBytes: number): MaybePromise<number | undefined>;

  /**
   * Reads a session like `getSession`, but without its state. Call it where only the events matter. Absent in back ends
   * where reading state is cheap.
   */
  getWithoutState?(request: GetSessionRequest): MaybePromise<Session | undefined>;

  /**
   * Returns a page of the sessions of a user or an app.
   * @throws InvalidRequestError for a cursor that this service did not return, or a limit that is not a positive integer
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
   * Yields a snapshot of a session as records for `importSession`: a header with its state, its events in append order, its tool
   * calls, and an end. The snapshot is of the time of the first read. Events are read in pages, so a long session is never in
   * memory as a whole. Artifacts are not included.
   * @throws SessionNotFoundError while iterating, also if the session is deleted before all of its events were read
   */
  abstract exportSession(key: SessionKey): AsyncGenerator<SessionRecord, void, undefined>;

  /**
   * Stores an exported session, in one transaction, so that reading it returns the exported one. Keys of the app's and the
   * user's state are written only if they are absent. A last update time in the future is replaced with the current time. The
   * session has no lease and no open run; `findRun` finds its runs and requests by the ids in its events. All records are read
   * before anything is stored, so the whole session is in memory. An error of `records` is rethrown.
   * @throws SessionAlreadyExistsError if the id is in use; nothing is changed
   * @throws InvalidRequestError for records that are incomplete, out of order or invalid, including events that `appendEvent`
   * refuses; the message names the record's number, from 1, and the field; nothing is changed
   * @throws SizeLimitError for a record that is larger than the back end stores; nothing is changed
   */
  abstract importSession(request: ImportSessionRequest): Promise<Session>;

  /**
   * Deletes a session with its events, state, lease, runs, webhooks and ledger. Keeps the user's and the app's state. A
   * no-op if it does not exist.
   */
  abstract deleteSession(request: SessionKey): Promise<void>;

  /**
   * Appends an event and returns it as stored (without `temp:` keys). If the session has an event with this id, nothing
   * is changed and the stored event is returned. A partial event is returned unchanged and not stored. The returned
   * event, also in the session object, is a frozen copy; the given event is not modified.
   * @throws SessionNotFoundError, also if the session was deleted and created again
   * @throws StaleWriterError if the lease no longer holds the session, or if the storage lost the event that was
   * appended before under the lease, as a database does that is replaced by an older copy; nothing is changed
   * @throws SessionBusyError without a lease, if the session stays busy
   * @throws StateKeyError and StateValueError for a delta that cannot be stored; nothing is changed
   * @throws InvalidEventError for an event that is not JSON, or with a known field of another type; a known field that
   * is null counts as absent, and unknown fields are stored; nothing is changed
   * @throws InvalidRequestError for an id that cannot be stored, and InvalidArtifactNameError for such a name in `artifactDelta`
   * @throws SizeLimitError for an event or a value that is larger than the back end stores; nothing is changed
   */
  abstract appendEvent(request: AppendEventRequest): MaybePromise<Event>;

  /**
   * Checks the size of an event that is to be appended with its state. Changes nothing, and does nothing for a session that does not exist.
   * The session may be locked. Call it before another run is interrupted for the event. Absent in a service without limits.
   *
   * @throws the errors of `appendEvent` for the event, such as SizeLimitError
   */
  checkAppend?(request: SessionKey & Pick<AppendEventRequest, 'event'>): MaybePromise<void>;

  /**
   * Appends several events in one transaction: all of them, or none if one is refused. Otherwise like `appendEvent` for
   * each, and as safe to repeat.
   * @throws the errors of `appendEvent`; nothing is changed
   */
  abstract appendEvents(request: AppendEventsRequest): Promise<Event[]>;

  /**
   * Acquires the session's lease for a run, records the run, reads the session and appends the message, in one transaction. While
   * the session is busy the call waits like `acquireLease`, outside any transaction. If several callers create the same
   * session, one of them creates it, and each gets it in turn.
   *
   * The run becomes the session's open run until its lease is released without `keepRunOpen`, or the session is deleted. From then
   * on `findRun` finds a new run and its `requestId`. Safe to repeat with the same ids: a message whose id is stored already is
   * not appended again, and the run gets the stored event.
   *
   * @throws RequestKnownError if `requestId` belongs to another run, or was cancelled, at once if that is so at the call; nothing is
   * changed
   * @throws RunNotFoundError at once with `continues` if the session has no such run; nothing is changed
   * @throws StaleWriterError at once if the session's latest lease does not have `lastEpoch`; nothing is changed
   * @throws UnfinishedRunError if the session has another open run: after the wait with `onBusy: 'queue'`, at once with
   * `interrupt`; nothing is changed, and the current lease stays valid
   * @throws SessionNotFoundError if the session does not exist, without `create`, and if it is deleted during the wait
   * @throws the errors of `acquireLease` and `appendEvent`; nothing is changed: no session, lease or run is created
   */
  abstract beginRun(request: BeginRunRequest): MaybePromise<BegunRun>;

  /**
   * Appends the run's last event, if there is one, and releases the session, in one transaction: `appendEvent` and
   * `releaseLease` in one call. Returns the event as `appendEvent` does. Safe to repeat: once the event is stored, the
   * call changes nothing and returns it, whichever lease holds the session by then. Without an event, it changes
   * nothing once the run has ended with this `outcome`.
   * @throws the errors of `appendEvent`; nothing is changed then, and the run keeps the session
   * @throws StaleWriterError without an event if the lease no longer holds the session and the run did not end with this
   * `outcome`; nothing is changed
   */
  abstract endRun(lease: SessionLease, request: EndRunRequest): MaybePromise<Event | undefined>;

  /**
   * Acquires the lease of a session, for writing to it.
   * @throws SessionNotFoundError
   * @throws SessionBusyError with `reject`, if the session is held; with `queue`, if it was not released within `waitMs`, or if
   * 1,000 callers of this service wait for it already
   * @throws RunAbortedError if `abortSignal` fires during the wait
   * @throws InvalidRequestError for a `ttlMs` that is not positive, or a `waitMs` that is negative or longer than a day
   */
  abstract acquireLease(request: AcquireLeaseRequest): Promise<SessionLease>;

  /** Extends the lease by another `ttlMs` from now. @throws StaleWriterError if the lease no longer holds the session */
  abstract renewLease(lease: SessionLease): MaybePromise<void>;

  /** Releases the lease for the next waiting caller, and ends the lease's run. A no-op if the lease no longer holds the session. */
  abstract releaseLease(lease: SessionLease, options?: ReleaseLeaseOptions): MaybePromise<void>;

  /** Finds a run of a session. Undefined for an unknown id and for a session that does not exist. */
  abstract findRun(request: FindRunRequest): MaybePromise<RunRecord | undefined>;

  /**
   * Cancels the request with this `id` before its run begins, also while another run has the session. The request is recorded as a run of
   * its own that was interrupted, so that `beginRun` refuses it from now on, in every process. Returns this record; for a request that is
   * recorded already, the record that `findRun` returns, and changes nothing. Undefined for a session that does not exist.
   */
  abstract cancelRequest(request: FindRunRequest): MaybePromise<RunRecord | undefined>;

  /**
   * Returns a page of the app's open runs, resumable or not. Leases of `acquireLease` and appends without a lease do not change
   * which runs are open.
   * @throws InvalidRequestError for a cursor that this service did not return, or a limit that is not a positive integer
   */
  abstract listOpenRuns(request: ListOpenRunsRequest): Promise<ListOpenRunsResponse>;

  /**
   * Records the start or the end of a tool call. The entry of a finished call is not changed any more.
   * @throws StaleWriterError if the lease no longer holds the session
   * @throws SizeLimitError for a response that is larger than the back end stores; nothing is changed
   */
  abstract recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<void>;

  /**
   * Stores a webhook of a run, with 0 attempts. It replaces an earlier webhook of the same run and URL, and is deleted with its
   * session. Safe to repeat with the same id.
   * @throws RunNotFoundError when the session does not have the run, or does not exist; nothing is changed
   */
  abstract putRunWebhook(request: PutRunWebhookRequest): MaybePromise<void>;

  /** Lists the webhooks of an app, ordered by `dueMs`. @throws InvalidRequestError for a limit that is not a positive integer */
  abstract listRunWebhooks(request: ListRunWebhooksRequest): MaybePromise<RunWebhook[]>;

  /**
   * Changes a webhook, or removes it if `change` is undefined. Returns false and changes nothing if the webhook was removed or
   * changed since it was listed, so that only one of several processes makes an attempt.
   */
  abstract changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): MaybePromise<boolean>;

  /**
   * Makes a small write that changes no session: shows that the storage can be written, which a read does not.
   * @throws StorageError if the storage cannot be reached, does not answer in time, is locked or read-only, or has no room for the write
   */
  abstract checkWritable(): MaybePromise<void>;

  /** Lists the tool calls of an invocation, in the order in which they started. */
  abstract listToolCalls(request: ListToolCallsRequest): MaybePromise<ToolLedgerEntry[]>;

  /**
   * Returns the session, and creates it if it does not exist. If several callers do so at once, one creates it with its `state`
   * and the others get that session.
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
