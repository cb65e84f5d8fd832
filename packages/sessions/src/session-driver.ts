import type {
  EndedRunState,
  Event,
  KeepRunOpen,
  MaybePromise,
  OpenRun,
  PutRunWebhookRequest,
  RunOutcome,
  RunRecord,
  RunWebhook,
  RunWebhookChange,
  SessionKey,
  SessionLease,
  StateWrite,
  ToolLedgerEntry,
} from '@eventloom/core';
import type { ClaimOutcome, ClaimRefusal, LeaseClaim, TakenLease } from './lease-claim.ts';

/** A stored key of the state, without its prefix, and its value. The value is a copy that the reader may change. */
export interface StateEntry {
  readonly scope: StateWrite['scope'];
  readonly key: string;
  readonly value: unknown;
}

/** A session that a driver has read. */
export interface StoredSession extends SessionKey {
  /** Distinguishes this session from an earlier one with the same key. Never empty. */
  readonly incarnation: string;
  /** Number of events that were ever appended. */
  readonly lastSeq: number;
  /** Time of the last append, or of the session's creation, in milliseconds since the epoch. */
  readonly updatedAtMs: number;
  /** The app's, the user's and the session's keys, in any order. */
  readonly state: readonly StateEntry[];
  /** The events in append order, in a list that the reader may change. Empty in a listing. */
  readonly events: Event[];
}

/** Parameters of `SessionDriver.createSession`. */
export interface SessionCreation extends SessionKey {
  /** State to write. The keys of the session's own scope are also stored as its initial state. */
  readonly writes: readonly StateWrite[];
  readonly nowMs: number;
}

/** The part of a created session that only the driver knows. */
export interface CreatedSession {
  readonly incarnation: string;
  /** State after the creation: the session's keys, and those of its app and its user. */
  readonly state: readonly StateEntry[];
}

/**
 * Size at which a database ends a page of a listing, in characters of state or of events as JSON. A single session or
 * event may be larger.
 */
export const MAX_PAGE_CHARS: number = 16 * 1024 * 1024;

/** Selects the events to read: those that meet every condition, and of them the newest `limit`. */
export interface EventWindow {
  /** Only events with a higher sequence number; 0 for all. */
  readonly afterSeq: number;
  /** Only events with a lower sequence number; undefined for all. */
  readonly beforeSeq: number | undefined;
  /**
   * True selects only the events in use since the last compaction: events with `actions.compaction`, and events with a later timestamp
   * than the greatest `endTimestamp` of these. Selects all events if the session has no compaction.
   */
  readonly sinceCompaction: boolean;
  /** Only events with at least this timestamp, in seconds. */
  readonly afterTimestamp: number | undefined;
  readonly limit: number | undefined;
}

/** The selected events of a session, read at one moment. */
export interface StoredEventWindow {
  readonly incarnation: string;
  /** Number of events that were ever appended. */
  readonly lastSeq: number;
  /** The events in append order, in a list that the reader may change. */
  readonly events: Event[];
}

/** A session without its events, read at one moment: its state, its initial state and its tool calls. */
export interface SessionBackground extends Omit<StoredSession, 'events'> {
  /** The session's own keys at its creation, in any order. */
  readonly initialState: readonly StateEntry[];
  /** All tool calls of the session. Those of one invocation are in the order in which they were first recorded. */
  readonly toolCalls: readonly ToolLedgerEntry[];
}

/** A session of another store, to import unchanged. */
export interface SessionImport extends SessionKey {
  readonly updatedAtMs: number;
  /** The session's own keys at its creation. */
  readonly initialState: readonly StateWrite[];
  /** The session's own keys. */
  readonly state: readonly StateWrite[];
  /** Keys of the app and the user. Each is written only if it is absent. */
  readonly sharedState: readonly StateWrite[];
  /** The events in append order, each with another id. Immutable. */
  readonly events: readonly Event[];
  /** The tool calls: at most one for each invocation and entry id. */
  readonly toolCalls: readonly ToolLedgerEntry[];
  /** The runs and requests that the events name, each with another id. */
  readonly runs: readonly StoredRun[];
}

/** The stored record of a run or of a request id. */
export interface StoredRun {
  /** Invocation id of the run, or a request id of it. */
  readonly id: string;
  readonly invocationId: string;
  /** Sequence number of the run's first event. */
  readonly firstSeq: number;
  /** The end of the run, if one was recorded. Records of request ids never have it. */
  readonly end?: EndedRunState | undefined;
}

/** Parameters of `SessionDriver.listSessions`: the page to read. */
export interface SessionPage {
  readonly appName: string;
  /** The user to list for; undefined for all users of the app. */
  readonly userId: string | undefined;
  /** Maximum number of results. */
  readonly limit: number;
  /** Position of the last session of the previous page; undefined for the first page. */
  readonly after: SessionPosition | undefined;
}

/** A session in a page of a listing, without events. */
export interface ListedSession extends StoredSession {
  /** True for the last session of a page that was shortened because its state is large, so that more sessions may follow. */
  readonly isCut?: boolean;
}

/** A position in a listing of sessions, which is sorted by update time (newest first), then by session id, then by user id. */
export interface SessionPosition {
  readonly updatedAtMs: number;
  readonly sessionId: string;
  readonly userId: string;
}

/** Parameters of `SessionDriver.appendEvent`. All of it is stored, or nothing. */
export interface EventAppend extends SessionKey {
  readonly incarnation: string;
  /** The event to store, without `temp:` keys. Immutable, so that a driver may keep it by reference. */
  readonly event: Event;
  /** State to write. A driver that keeps objects stores copies of the values, because the caller keeps them too. */
  readonly writes: readonly StateWrite[];
  readonly nowMs: number;
  /**
   * The lease to write under, which the append renews; undefined for an append without one, which is refused while the session is locked.
   */
  readonly lease: SessionLease | undefined;
}

/** Parameters of `SessionDriver.checkAppend`. */
export type AppendCheck = Omit<EventAppend, 'incarnation' | 'lease'>;

/** The outcome of an append, in the order in which a driver checks. */
export type AppendOutcome =
  /** The result if no session has this key and incarnation. */
  | { readonly status: 'missing' }
  /** The result if the lease is not, or no longer, the session's. */
  | { readonly status: 'stale' }
  /** The result for a caller without a lease while another holds the session: time at which that lease ends, unless it is renewed. */
  | { readonly status: 'busy'; readonly freeAtMs: number }
  /** The result if the session already has an event with this id, which is returned. Nothing was changed. */
  | { readonly status: 'duplicate'; readonly event: Event; readonly lastSeq: number }
  | { readonly status: 'stored'; readonly seq: number };

/** Parameters of `SessionDriver.beginRun`. */
export interface RunClaim extends LeaseClaim {
  readonly invocationId: string;
  /** Id of the caller's request, which differs from `invocationId`; undefined if the caller gave none. */
  readonly requestId: string | undefined;
  readonly resumable: boolean;
  /** True continues a run that the session must have; false begins a new one. Never true together with `create`. */
  readonly continues: boolean;
  /** Epoch that the session's latest lease must have; undefined for any. */
  readonly lastEpoch?: number | undefined;
  /** True creates the session, without state, if it does not exist. */
  readonly create: boolean;
  /** The webhook to store with the run, as in `putRunWebhook`, but in addition to the earlier ones of the run. */
  readonly webhook?: PutRunWebhookRequest | undefined;
  /** Selects the events before the message that are read. */
  readonly window: EventWindow;
  /**
   * Creates the message to append, dated later than `coveredUntil`: the greatest `endTimestamp` of the session's compactions, in seconds,
   * or -Infinity. May be called several times; the last result is appended. Throws for an event that cannot be stored. Undefined for a
   * run without a message.
   */
  readonly message: ((coveredUntil: number) => RunMessage) | undefined;
}

/** The message to append at the start of a run: see `EventAppend`. */
export type RunMessage = Pick<EventAppend, 'event' | 'writes'>;

/** The result of `SessionDriver.beginRun`: a run that holds its session. */
export interface TakenRun extends TakenLease {
  /** The session before the message. */
  readonly session: StoredSession;
  /** The stored event with the message's id, if there was one; then nothing was appended. */
  readonly duplicate: Event | undefined;
  readonly firstSeq: number;
  readonly wasOpen: boolean;
}

/** The reasons why a run is refused, in the order in which a driver checks them, before and after it checks the lease. */
export type RunRefusal =
  /** The request id belongs to another run. Checked first, also if the session is busy. */
  | { readonly status: 'known'; readonly invocationId: string }
  /** The session does not have the run that continues. Checked before the lease as well. */
  | { readonly status: 'unknown' }
  /** The session's latest lease has another epoch than `lastEpoch`. Looked at before the lease as well. */
  | { readonly status: 'stale' }
  /** The lease was free, but another run of the session is open. */
  | { readonly status: 'open'; readonly run: OpenRun };

/** The outcome of beginning a run. */
export type BeginOutcome = ClaimRefusal | RunRefusal | TakenRun;

/** Parameters of `SessionDriver.endRun`: the last append of a run, and its outcome. */
export interface RunEnd extends EventAppend {
  readonly lease: SessionLease;
  readonly keepRunOpen: KeepRunOpen;
  readonly outcome: RunOutcome | undefined;
}

/** Changes of the records of runs, made when a lease is released. */
export interface RecordChanges {
  /** Outcome of the lease's run, recorded with the sequence number of the session's last event. Ignored if the run stays open. */
  readonly outcome?: RunOutcome | undefined;
  /** Ids of runs, requests and webhooks to remove. A run is removed with its webhooks. */
  readonly forget?: readonly string[] | undefined;
}

/**
 * Storage for sessions: everything that a back end has to implement. `DriverSessionService` does the rest for all back ends: it checks
 * arguments, state keys and values, splits and merges scopes, drops `temp:` keys, keeps the caller's session object up to date, converts
 * outcomes to errors and queues for leases. A driver gets only well-formed values.
 *
 * A value that is larger than the back end stores in one piece (an event, a state value or a tool's response, as JSON) is refused with a
 * SizeLimitError that names it, and nothing is changed.
 *
 * Methods throw a StorageError if the storage fails. Their changes may have been stored nevertheless.
 *
 * Every method is one transaction. A lease of a session is live from `claimLease` until it is released, until a later
 * lease is granted, or, once it expired (`nowMs` reached the last claim, renewal or append plus `ttlMs`), until another
 * claims the session or appends to it without a lease. A write under a lease is accepted exactly while the lease is
 * live, expired or not, but an append is stale too if it would leave a gap: if the session lacks the event that this
 * service stored last under the lease, or that was the last one when it granted the lease, because the database was
 * restored or replaced by a copy. A storage that cannot lose events need not check that. A session that is created
 * again gets higher epochs than any earlier session with the same key, so that old leases stay invalid.
 */
export interface SessionDriver {
  /** True if other processes may write to the same storage. A caller that waits for a lease then asks again at intervals. */
  readonly shared: boolean;

  /** Creates a session and writes its state. Returns undefined, and changes nothing, if the key is taken. */
  createSession(creation: SessionCreation): MaybePromise<CreatedSession | undefined>;

  /** Returns the session with its state and the selected events, read at one moment; undefined if the session does not exist. */
  readSession(key: SessionKey, window: EventWindow): MaybePromise<StoredSession | undefined>;

  /** Returns a page of sessions with their state, without events. Sessions may share objects of the app's and the user's state. */
  listSessions(page: SessionPage): MaybePromise<ListedSession[]>;

  /**
   * Returns the selected events without the state; undefined if the session does not exist. To save memory it may return fewer events, but
   * at least one: the newest with a limit, otherwise the oldest.
   */
  readEvents(key: SessionKey, window: EventWindow): MaybePromise<StoredEventWindow | undefined>;

  /**
   * Counts the events of a window that together have at most about this many bytes as JSON: its newest with a limit,
   * otherwise its oldest. Returns at least 1, also for a session that does not exist. Ignores the times of the window.
   * Absent in a driver whose events are in memory.
   */
  countWithin?(key: SessionKey, window: EventWindow, maxBytes: number): MaybePromise<number>;

  /** Returns the session with its state, its initial state and its tool calls, read at one moment; undefined if it does not exist. */
  readBackground(key: SessionKey): MaybePromise<SessionBackground | undefined>;

  /**
   * Stores a session with its events, which get the sequence numbers from 1. Returns undefined, and changes nothing, if the key is taken.
   */
  importSession(session: SessionImport): MaybePromise<CreatedSession | undefined>;

  /** Removes the session with its events, state, lease, runs, webhooks, tickets and tool calls. Does nothing if it does not exist. */
  deleteSession(key: SessionKey): MaybePromise<void>;

  /** Appends an event and writes its state. Appending under a lease renews it; appending without one ends an expired lease. */
  appendEvent(append: EventAppend): MaybePromise<AppendOutcome>;

  /**
   * Throws the SizeLimitError with which `appendEvent` would refuse the event or its state, even if the session is
   * locked. Changes nothing, and does nothing for a session that does not exist. Absent in a driver without limits.
   */
  checkAppend?(check: AppendCheck): MaybePromise<void>;

  /**
   * Appends events of one session under one lease, in order, and returns the outcome of each. If one is refused, its refusal is the only
   * outcome. Nothing is changed if one is refused or cannot be stored.
   */
  appendEvents(appends: readonly EventAppend[]): MaybePromise<readonly AppendOutcome[]>;

  /**
   * Creates the session if it is missing and `create` is true, claims the lease like `claimLease`, records the run with its webhook, reads
   * the session like `readSession`, and appends the message with its state. If a step fails or is refused, nothing is changed, except that
   * a claim that is refused as busy stores its ticket.
   *
   * The run becomes the session's open run. If it already is the open run and `continues` is true, it keeps `resumable` and gets one more
   * attempt; otherwise it has one attempt. A run that is not recorded yet, and its request id, are recorded with the number of the run's
   * first event, which is the session's next one. The record of a request whose run was forgotten is ignored.
   */
  beginRun(claim: RunClaim): MaybePromise<BeginOutcome>;

  /**
   * Appends like `appendEvent`. If the event is stored, now or by an earlier call, releases the lease like `releaseLease`, with the
   * `outcome`. An event that is already stored is a `duplicate` even if the lease is not live.
   */
  endRun(end: RunEnd): MaybePromise<AppendOutcome>;

  /** Grants a lease with a higher epoch than all earlier ones, if the session is not locked or `takeOver` is true. */
  claimLease(claim: LeaseClaim): MaybePromise<ClaimOutcome>;

  /** Extends a live lease by another `ttlMs`. Returns false if it is not live. */
  renewLease(lease: SessionLease, nowMs: number): MaybePromise<boolean>;

  /**
   * Ends a live lease and its open run. With `keepRunOpen` the run stays open, with one attempt less for
   * `without-attempt`. Returns false, and changes nothing, if the lease is not live.
   */
  releaseLease(lease: SessionLease, keepRunOpen: KeepRunOpen, changes?: RecordChanges): MaybePromise<boolean>;

  /** Removes the ticket of a claim. Does nothing if there is none. Called only if the driver is `shared`. */
  withdrawTicket(key: SessionKey, ticketId: string): MaybePromise<void>;

  /** Returns the record of a run, by its invocation id or a request id; undefined if there is none. */
  findRun(key: SessionKey, id: string): MaybePromise<RunRecord | undefined>;

  /**
   * Records a request as `cancelledRun` returns it, if `findRun` finds no record of its id. Returns the record that `findRun` then returns.
   * Undefined, with nothing changed, for a session that does not exist.
   */
  cancelRequest(key: SessionKey, requestId: string): MaybePromise<RunRecord | undefined>;

  /** Returns a page of the app's open runs. */
  listOpenRuns(page: OpenRunPage): MaybePromise<OpenRun[]>;

  /** Implements `BaseSessionService.putRunWebhook`; returns false if the session does not have the run. */
  putRunWebhook(webhook: PutRunWebhookRequest): MaybePromise<boolean>;

  /** Returns the webhooks of an app, sorted by `dueMs`, then by `id` in the order of code points. */
  listRunWebhooks(page: RunWebhookPage): MaybePromise<RunWebhook[]>;

  /**
   * Changes the webhook, or removes it if `change` is undefined. Returns false, and changes nothing, if the stored webhook is absent or has
   * other attempts or another due time.
   */
  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): MaybePromise<boolean>;

  /** Stores a tool call under a live lease, unless the stored one is finished. Returns false if the lease is not live. */
  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<boolean>;

  /** Returns the tool calls of an invocation, in the order in which they were first recorded. */
  listToolCalls(key: SessionKey, invocationId: string): MaybePromise<ToolLedgerEntry[]>;

  /** Implements `BaseSessionService.checkWritable`. May be more than one transaction. */
  checkWritable(): MaybePromise<void>;
}

/** Parameters of `SessionDriver.listRunWebhooks`. */
export interface RunWebhookPage {
  readonly appName: string;
  /** The user to list for; undefined for all users of the app. */
  readonly userId: string | undefined;
  /** True lists webhooks of open runs as well; false only those of ended runs. */
  readonly includeOpen: boolean;
  /** Maximum number of results. */
  readonly limit: number;
}

/** Parameters of `SessionDriver.listOpenRuns`. The runs are sorted by user id, then by session id, in the order of code points. */
export interface OpenRunPage {
  readonly appName: string;
  /** Maximum number of results. */
  readonly limit: number;
  /** Position of the last run of the previous page; undefined for the first page. */
  readonly after: OpenRunPosition | undefined;
}

/** A position in a listing of open runs. */
export interface OpenRunPosition {
  readonly userId: string;
  readonly sessionId: string;
}
