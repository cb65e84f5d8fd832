import type {
  EndedRunState,
  Event,
  LeaveOpen,
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

/** One stored state key, without its prefix. The value is the reader's own: changing it changes nothing stored. */
export interface StateEntry {
  readonly scope: StateWrite['scope'];
  readonly key: string;
  readonly value: unknown;
}

/** A session as a driver reads it. */
export interface StoredSession extends SessionKey {
  /** Distinguishes this session from an earlier one of the same key. Never empty. */
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

/** A session to make. */
export interface SessionCreation extends SessionKey {
  /** The session's own keys among them are its initial state, which stays known. */
  readonly writes: readonly StateWrite[];
  readonly nowMs: number;
}

/** The part of a created session that only the driver knows. */
export interface CreatedSession {
  readonly incarnation: string;
  /** The session's keys just written, and what the app and the user had or now have. */
  readonly state: readonly StateEntry[];
}

/** Selects the events to read: those that meet every condition, and of them the newest `limit`. */
export interface EventWindow {
  /** Only events with a higher sequence number; 0 for all. */
  readonly afterSeq: number;
  /** Only events with a lower sequence number; undefined for all. */
  readonly beforeSeq: number | undefined;
  /**
   * True for what counts since the last compaction: events with `actions.compaction`, and events whose timestamp is greater
   * than the greatest `endTimestamp` of any of these. True without a compaction in the session is as false.
   */
  readonly sinceCompaction: boolean;
  /** Only events with at least this timestamp, in seconds. */
  readonly afterTimestamp: number | undefined;
  readonly limit: number | undefined;
}

/** A window of a session's events as of one moment. */
export interface StoredEventWindow {
  readonly incarnation: string;
  /** Number of events that were ever appended. */
  readonly lastSeq: number;
  /** The events in append order, in a list that the reader may change. */
  readonly events: Event[];
}

/** All of a session but its events, as of one moment. */
export interface SessionBackground extends Omit<StoredSession, 'events'> {
  /** The session's own keys as it was created with them, in any order. */
  readonly initialState: readonly StateEntry[];
  /** All of its tool calls; those of one invocation in the order in which they were first recorded. */
  readonly toolCalls: readonly ToolLedgerEntry[];
}

/** A session of another store, to import unchanged. */
export interface SessionImport extends SessionKey {
  readonly updatedAtMs: number;
  /** The session's own keys as it was created with them. */
  readonly initialState: readonly StateWrite[];
  /** The session's own keys. */
  readonly state: readonly StateWrite[];
  /** Keys of the app and the user, each written only where it is not there. */
  readonly sharedState: readonly StateWrite[];
  /** The events in append order, their ids all different. Immutable. */
  readonly events: readonly Event[];
  /** No two of one invocation and call id. */
  readonly toolCalls: readonly ToolLedgerEntry[];
  /** The runs and requests that the events name. No two of one id. */
  readonly runs: readonly StoredRun[];
}

/** A run or a request of a session as it is stored. */
export interface StoredRun {
  /** The invocation id of a run, or the request id of one. */
  readonly id: string;
  readonly invocationId: string;
  /** The number of the run's first event. */
  readonly firstSeq: number;
  /** The last end of the run, if it was recorded. Only the run's own record has it, not those of its requests. */
  readonly end?: EndedRunState | undefined;
}

/** A page of a listing. */
export interface SessionPage {
  readonly appName: string;
  /** All of the app's users when undefined. */
  readonly userId: string | undefined;
  /** Maximum number of results. */
  readonly limit: number;
  /** The last session of the page before; undefined for the first page. */
  readonly after: SessionPosition | undefined;
}

/** A session of a listing. */
export interface ListedSession extends StoredSession {
  /** True for the last one of a page that is shorter than asked for because its state is large: more may follow. */
  readonly isCut?: boolean;
}

/** A place in the order of a listing: newest update first, then by session id, then by user id, both ascending. */
export interface SessionPosition {
  readonly updatedAtMs: number;
  readonly sessionId: string;
  readonly userId: string;
}

/** One append: everything in it is stored together or not at all. */
export interface EventAppend extends SessionKey {
  readonly incarnation: string;
  /** The event to store, without `temp:` keys. Immutable, so that a driver may keep it by reference. */
  readonly event: Event;
  /** Values may be kept by others: a driver that keeps objects keeps copies. */
  readonly writes: readonly StateWrite[];
  readonly nowMs: number;
  /** The lease to write under, which is renewed; undefined to write only if the session is not locked. */
  readonly lease: SessionLease | undefined;
}

/** The outcome of an append, in the order in which a driver checks. */
export type AppendOutcome =
  /** The result if no session has this key and incarnation. */
  | { readonly status: 'missing' }
  /** The lease is not, or no longer, the session's. */
  | { readonly status: 'stale' }
  /** The result for a caller without a lease while another holds the session: time at which that lease ends, unless it is renewed. */
  | { readonly status: 'busy'; readonly freeAtMs: number }
  /** The session has an event of this id: it is given, and nothing was changed. */
  | { readonly status: 'duplicate'; readonly event: Event; readonly lastSeq: number }
  | { readonly status: 'stored'; readonly seq: number };

/** A run to begin. */
export interface RunBegin extends LeaseClaim {
  readonly invocationId: string;
  /** Never the same as `invocationId`. */
  readonly requestId: string | undefined;
  readonly resumable: boolean;
  /** True for a run that the session must have. Never together with `create`. */
  readonly continues: boolean;
  /** True to create the session, without state, if it does not exist. */
  readonly create: boolean;
  /** The webhook to store with the run, as `putRunWebhook` does, but beside the earlier ones of the run. */
  readonly webhook?: PutRunWebhookRequest | undefined;
  /** Selects the events before the message that are read. */
  readonly window: EventWindow;
  /**
   * Makes the message to append, dated after the end of what the session's compactions cover (the greatest `endTimestamp` of any, in
   * seconds; -Infinity without one). May be called more than once, the last call counts; it throws for an event that cannot be stored.
   * Undefined for a run without a message.
   */
  readonly message: ((coveredUntil: number) => RunMessage) | undefined;
}

/** The message of a run; see `EventAppend`. */
export type RunMessage = Pick<EventAppend, 'event' | 'writes'>;

/** A run that was begun. */
export interface TakenRun extends TakenLease {
  /** The session before the message. */
  readonly session: StoredSession;
  /** The stored event of the message's id, if there was one: then nothing was appended. */
  readonly duplicate: Event | undefined;
  readonly firstSeq: number;
  readonly wasOpen: boolean;
}

/**
 * The reason for which a run is refused, in the order in which a driver checks, before and after it checks the lease.
 */
export type RunRefusal =
  /** The request id is that of another run. Looked at first, busy or not. */
  | { readonly status: 'known'; readonly invocationId: string }
  /** The session does not have the run that continues. Looked at before the lease as well. */
  | { readonly status: 'unknown' }
  /** The lease was free, but another run of the session is open. */
  | { readonly status: 'open'; readonly run: OpenRun };

/** The outcome of beginning a run. */
export type BeginOutcome = ClaimRefusal | RunRefusal | TakenRun;

/** The last append of a run. */
export interface RunEnd extends EventAppend {
  readonly lease: SessionLease;
  readonly leaveOpen: LeaveOpen;
  readonly outcome: RunOutcome | undefined;
}

/** Changes that a release makes in the records of runs. */
export interface RecordChanges {
  /** The outcome of the run of the lease: recorded with the number of the session's last event, unless the run is left open. */
  readonly outcome?: RunOutcome | undefined;
  /** The records of these runs and requests are removed, with the webhooks of the runs, and the webhooks of these ids. */
  readonly forget?: readonly string[] | undefined;
}

/**
 * Storage for sessions: everything that a back end has to implement. `DriverSessionService` in front of it does the
 * rest once for all of them: it checks arguments, state keys and values, splits and merges scopes, drops `temp:` keys,
 * keeps the caller's session object up to date, converts outcomes to errors and queues for leases. A driver gets
 * well-formed values only.
 *
 * A value that is larger than the back end stores in one piece (an event, a state value or a tool's response, as JSON)
 * is refused with a SizeLimitError that names it, and nothing is changed.
 *
 * A failure of the storage is a StorageError. The work may have been done all the same.
 *
 * Every method is one transaction. A lease of a session is live from `claimLease` until it is released, until a later
 * lease is granted, or, once it expired (`nowMs` reached the last claim, renewal or append plus `ttlMs`), until another
 * claims the session or appends to it without a lease. A write under a lease is accepted exactly while it is live,
 * expired or not. A session that is created again gets higher epochs than any earlier session of the same key, so that
 * old leases stay dead.
 */
export interface SessionDriver {
  /** True when other processes may write to the same storage: a wait for a lease then asks again from time to time. */
  readonly shared: boolean;

  /** Creates a session and writes its state. Returns undefined, and changes nothing, if the key is taken. */
  createSession(creation: SessionCreation): MaybePromise<CreatedSession | undefined>;

  /** Returns the session, its state and a window of its events, all of one moment; undefined if the session does not exist. */
  readSession(key: SessionKey, window: EventWindow): MaybePromise<StoredSession | undefined>;

  /** A page of sessions with their state and without events. What they share of it may be the same objects in all of them. */
  listSessions(page: SessionPage): MaybePromise<ListedSession[]>;

  /**
   * A window of the session's events without its state; undefined when the session is not there. May be cut where memory needs it, to one
   * event at least: to its newest with a limit, else to its oldest.
   */
  readEvents(key: SessionKey, window: EventWindow): MaybePromise<StoredEventWindow | undefined>;

  /** The session with its state, its initial state and its tool calls, as of one moment; undefined when it is not there. */
  readBackground(key: SessionKey): MaybePromise<SessionBackground | undefined>;

  /** Stores a session with its history, numbered from 1; undefined, with nothing changed, when its key is taken. */
  importSession(session: SessionImport): MaybePromise<CreatedSession | undefined>;

  /** Removes the session with its events, state, lease, runs, webhooks, tickets and tool calls. Absent: a no-op. */
  deleteSession(key: SessionKey): MaybePromise<void>;

  /** Appends an event and writes its state. Appending under a lease renews it; appending without one ends an expired lease. */
  appendEvent(append: EventAppend): MaybePromise<AppendOutcome>;

  /**
   * Appends events of one session under one lease, in order, and returns the outcome of each. A refusal is of all of them, and the only
   * outcome: then, and when one cannot be stored, nothing is changed.
   */
  appendEvents(appends: readonly EventAppend[]): MaybePromise<readonly AppendOutcome[]>;

  /**
   * Creates the session if it is missing and `create` says so, claims the lease as `claimLease` does, records the run with its webhook, reads the
   * session as `readSession` does, and appends the message with its state. When any of this fails or is refused, nothing is changed, except that a
   * claim that is refused as busy leaves its ticket.
   *
   * The run becomes the session's open run: with one attempt more, and as resumable as it was, when it is that already and `continues`,
   * and with one attempt otherwise. A run that is not recorded yet, and its request id, are recorded with the number of the run's first
   * event, which is the session's next one. The record of a request whose run was forgotten counts as none.
   */
  beginRun(begin: RunBegin): MaybePromise<BeginOutcome>;

  /**
   * Appends as `appendEvent` does and, when the event is stored now or was before, releases the lease as `releaseLease` does, with the `outcome`. An event
   * that is stored already is a `duplicate` here also under a lease that is not live.
   */
  endRun(end: RunEnd): MaybePromise<AppendOutcome>;

  /** Gives a lease with an epoch higher than any before, if the session is not locked or `takeOver` is set. */
  claimLease(claim: LeaseClaim): MaybePromise<ClaimOutcome>;

  /** Keeps a live lease for another `ttlMs`; false when it is not live. */
  renewLease(lease: SessionLease, nowMs: number): MaybePromise<boolean>;

  /**
   * Ends a live lease and the open run that it was for. With `leaveOpen` that run stays, and has one attempt less when that is
   * `uncounted`. False for a lease that is not live, with nothing changed, also in the records.
   */
  releaseLease(lease: SessionLease, leaveOpen: LeaveOpen, changes?: RecordChanges): MaybePromise<boolean>;

  /** Removes a ticket that a claim left. One that is not there: a no-op. Called only when the driver is `shared`. */
  withdrawTicket(key: SessionKey, ticketId: string): MaybePromise<void>;

  /** The record of a run, by its id or a request id: with its end unless it is open. */
  findRun(key: SessionKey, id: string): MaybePromise<RunRecord | undefined>;

  /** A page of the app's open runs. */
  listOpenRuns(page: OpenRunPage): MaybePromise<OpenRun[]>;

  /** Implements `BaseSessionService.putRunWebhook`; returns false if the session does not have the run. */
  putRunWebhook(webhook: PutRunWebhookRequest): MaybePromise<boolean>;

  /** The webhooks of an app, in ascending order of `dueMs`, and of `id` by code points. */
  listRunWebhooks(page: RunWebhookPage): MaybePromise<RunWebhook[]>;

  /** Changes or removes the webhook of this key and id, if it has the same attempts and due time; false when there is none. */
  changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): MaybePromise<boolean>;

  /** Writes a tool call under a live lease, unless it is finished already; false when the lease is not live. */
  recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<boolean>;

  /** An invocation's tool calls in the order in which they were first recorded. */
  listToolCalls(key: SessionKey, invocationId: string): MaybePromise<ToolLedgerEntry[]>;

  /** Implements `BaseSessionService.checkWritable`. May be more than one transaction. */
  checkWritable(): MaybePromise<void>;
}

/** Selects the webhooks to list. */
export interface RunWebhookPage {
  readonly appName: string;
  /** All of the app's users when undefined. */
  readonly userId: string | undefined;
  /** False: not those whose run is their session's open run. */
  readonly includeOpen: boolean;
  /** Maximum number of results. */
  readonly limit: number;
}

/** A page of the open runs of an app, in ascending order of user id and then session id, by code points. */
export interface OpenRunPage {
  readonly appName: string;
  /** Maximum number of results. */
  readonly limit: number;
  /** The last run of the page before; undefined for the first page. */
  readonly after: OpenRunPosition | undefined;
}

/** A place in the order of open runs. */
export interface OpenRunPosition {
  readonly userId: string;
  readonly sessionId: string;
}
