import {
  type AcquireLeaseRequest,
  type AppendEventRequest,
  BaseSessionService,
  type BeginRunRequest,
  type BegunRun,
  checkName,
  checkStateDelta,
  checkToolCall,
  type CreateSessionRequest,
  type EndRunRequest,
  type Event,
  type GetSessionRequest,
  type ImportSessionRequest,
  type ListEventsRequest,
  type ListEventsResponse,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type ListToolCallsRequest,
  type MaybePromise,
  type Platform,
  type ReleaseLeaseOptions,
  type Session,
  type SessionKey,
  sessionKeyOf,
  type SessionLease,
  type SessionRecord,
  systemPlatform,
  type ToolLedgerEntry,
  toStateWrites,
} from '@eventloom/core';
import { afterCovered } from '@eventloom/core/internal';
import { type AppendPlan, NO_WRITES, planAppend } from './append-plan.ts';
import { busyError, existsError, notFoundError, staleError } from './errors.ts';
import { ALL_EVENTS, toEventWindow } from './event-window.ts';
import { exportSession } from './export-session.ts';
import { planImport } from './import-plan.ts';
import { listOpenRuns, listSessions, showEventPage, toEventPage } from './listings.ts';
import type { AppendOutcome, SessionDriver } from './session-driver.ts';
import { SessionLeases } from './session-leases.ts';
import { SessionNames } from './session-names.ts';
import { showAppend, showStored, showTemp, toSession } from './session-view.ts';
import { whenReady } from './when-ready.ts';

/** Options of every session service. */
export interface DriverSessionServiceOptions {
  /** Clock, ids and timers. */
  readonly platform?: Platform | undefined;
}

/**
 * A session service over a driver: what the contract promises beyond storage, written once. An answer that the driver gives at
 * once costs no extra turn of the event loop.
 *
 * An event appended with an empty id or a zero timestamp gets them here. A session object that is behind what is stored is
 * brought up to date with every event it lacks. At most 1,000 callers of a service wait for
 * one session; the next gets SessionBusyError at once. Names are at most 256 bytes, the call ids of the ledger at most 2,304.
 */
export class DriverSessionService extends BaseSessionService {
  readonly #driver: SessionDriver;
  readonly #platform: Platform;
  readonly #leases: SessionLeases;
  readonly #names = new SessionNames();

  constructor(driver: SessionDriver, options: DriverSessionServiceOptions = {}) {
    super();
    this.#driver = driver;
    this.#platform = options.platform ?? systemPlatform;
    this.#leases = new SessionLeases(driver, this.#platform, this.#names);
  }

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, sessionId = this.#platform.newUuid(), state } = request;
    this.#names.check(appName, userId, sessionId);
    const writes = state ? toStateWrites(checkStateDelta(state)) : NO_WRITES;
    const nowMs = this.#platform.now();
    let created = this.#driver.createSession({ appName, userId, sessionId, writes, nowMs });
    if (created instanceof Promise) created = await created;
    if (!created) throw existsError({ appName, userId, sessionId });
    return toSession({ ...created, appName, userId, sessionId, updatedAtMs: nowMs, lastSeq: 0, events: [] });
  }

  override getSession(request: GetSessionRequest): MaybePromise<Session | undefined> {
    const { appName, userId, sessionId, config } = request;
    this.#names.check(appName, userId, sessionId);
    return whenReady(this.#driver.readSession(request, toEventWindow(config)), (stored) => stored && toSession(stored));
  }

  override listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    return listSessions(this.#driver, request);
  }

  override async listEvents(request: ListEventsRequest): Promise<ListEventsResponse> {
    this.#names.check(request.appName, request.userId, request.sessionId);
    const page = toEventPage(request);
    let found = this.#driver.readEvents(request, page.window);
    if (found instanceof Promise) found = await found;
    if (!found) throw notFoundError(request);
    return showEventPage(request, page, found);
  }

  override exportSession(key: SessionKey): AsyncGenerator<SessionRecord, void, undefined> {
    return exportSession(this.#driver, key);
  }

  override async importSession(request: ImportSessionRequest): Promise<Session> {
    const session = await planImport(request, this.#platform.now());
    const { appName, userId, sessionId, updatedAtMs, events } = session;
    this.#names.check(appName, userId, sessionId);
    const created = await this.#driver.importSession(session);
    if (!created) throw existsError(session);
    const lastSeq = events.length;
    return toSession({ ...created, appName, userId, sessionId, updatedAtMs, lastSeq, events: [...events] });
  }

  override async deleteSession(request: SessionKey): Promise<void> {
    this.#names.check(request.appName, request.userId, request.sessionId);
    const deleted = this.#driver.deleteSession(request);
    if (deleted instanceof Promise) await deleted;
    this.#leases.wake(request);
  }

  override appendEvent(request: AppendEventRequest): MaybePromise<Event> {
    const { session, event, lease } = request;
    if (event.partial === true) return event;
    const { appName, userId, id: sessionId } = session;
    this.#names.check(appName, userId, sessionId);
    const nowMs = this.#platform.now();
    const plan = planAppend(event, nowMs, this.#platform);
    checkName('event.id', plan.event.id);
    if (lease && !isLeaseOf(lease, session)) throw staleError(lease);
    if (!lease && this.#leases.isAwaited({ appName, userId, sessionId })) return this.#appendInTurn(session, plan);
    const outcome = this.#append(session, plan, nowMs, lease);
    // Not `whenReady`, whose closure would cost every event more than the append itself.
    return outcome instanceof Promise
      ? this.#settleLater(session, plan, outcome, nowMs, lease)
      : this.#settle(session, plan, outcome, nowMs, lease);
  }

  async #settleLater(
    session: Session,
    plan: AppendPlan,
    outcome: Promise<AppendOutcome>,
    nowMs: number,
    lease: SessionLease | undefined,
  ): Promise<Event> {
    return this.#settle(session, plan, await outcome, nowMs, lease);
  }

  #settle(
    session: Session,
    plan: AppendPlan,
    outcome: AppendOutcome,
    nowMs: number,
    lease: SessionLease | undefined,
  ): MaybePromise<Event> {
    if (outcome.status === 'busy') return this.#appendInTurn(session, plan);
    return this.#settleAppend(session, plan, outcome, nowMs, lease);
  }

  override beginRun(request: BeginRunRequest): MaybePromise<BegunRun> {
    const { invocationId, create = false, message: given } = request;
    const window = toEventWindow(request.read);
    const message = given && given.id === '' ? { ...given, id: this.#platform.newEventId() } : given;
    if (message) checkName('event.id', message.id);
    let nowMs = 0;
    let plan: AppendPlan | undefined;
    const planMessage =
      message && message.partial !== true
        ? (coveredUntil: number) => (plan = planAppend(datedAfter(coveredUntil, message, nowMs), nowMs, this.#platform))
        : undefined;
    return whenReady(
      this.#leases.take(request, (claim) => {
        nowMs = claim.nowMs;
        return this.#driver.beginRun({ ...claim, invocationId, create, window, message: planMessage });
      }),
      ({ lease, session: stored, duplicate }) => {
        const session = toSession(stored);
        if (plan && !duplicate) showAppend(session, plan, session.lastSeq + 1, nowMs);
        return { lease, session, message: duplicate ?? plan?.event ?? message };
      },
    );
  }

  override endRun(lease: SessionLease, request: EndRunRequest): MaybePromise<Event | undefined> {
    const { session, event, leaveOpen = false } = request;
    if (event === undefined || event.partial === true)
      return whenReady(this.#leases.release(lease, { leaveOpen }), () => event);
    const { appName, userId, id: sessionId, incarnation } = session;
    this.#names.check(appName, userId, sessionId);
    const nowMs = this.#platform.now();
    const plan = planAppend(event, nowMs, this.#platform);
    checkName('event.id', plan.event.id);
    if (!isLeaseOf(lease, session)) throw staleError(lease);
    const append = { appName, userId, sessionId, incarnation, event: plan.event, writes: plan.writes, nowMs };
    return whenReady(this.#driver.endRun({ ...append, lease, leaveOpen }), (outcome) => {
      this.#leases.wake(lease);
      return this.#settleAppend(session, plan, outcome, nowMs, lease);
    });
  }

  override acquireLease(request: AcquireLeaseRequest): Promise<SessionLease> {
    return this.#leases.acquire(request);
  }

  override renewLease(lease: SessionLease): MaybePromise<void> {
    return this.#leases.renew(lease);
  }

  override releaseLease(lease: SessionLease, options?: ReleaseLeaseOptions): MaybePromise<void> {
    return this.#leases.release(lease, options);
  }

  override listOpenRuns(request: ListOpenRunsRequest): Promise<ListOpenRunsResponse> {
    return listOpenRuns(this.#driver, request);
  }

  override recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<void> {
    return whenReady(this.#driver.recordToolCall(lease, checkToolCall(entry)), (isLive) => {
      if (!isLive) throw staleError(lease);
    });
  }

  override listToolCalls(request: ListToolCallsRequest): MaybePromise<ToolLedgerEntry[]> {
    this.#names.check(request.appName, request.userId, request.sessionId);
    checkName('invocationId', request.invocationId);
    return this.#driver.listToolCalls(request, request.invocationId);
  }

  /** Appends to a session that is held or waited for: waits for a lease, and appends under it. */
  async #appendInTurn(session: Session, plan: AppendPlan): Promise<Event> {
    const key = sessionKeyOf(session);
    const lease = await this.#leases.acquire(key);
    try {
      const nowMs = this.#platform.now();
      const outcome = await this.#append(session, plan, nowMs, lease);
      return await this.#settleAppend(session, plan, outcome, nowMs, lease);
    } finally {
      await this.#leases.release(lease);
    }
  }

  #append(
    { appName, userId, id: sessionId, incarnation }: Session,
    { event, writes }: AppendPlan,
    nowMs: number,
    lease: SessionLease | undefined,
  ): MaybePromise<AppendOutcome> {
    return this.#driver.appendEvent({ appName, userId, sessionId, incarnation, event, writes, nowMs, lease });
  }

  /** Turns an outcome into what the caller sees, and brings a session object up to date that was behind. */
  #settleAppend(
    session: Session,
    plan: AppendPlan,
    outcome: AppendOutcome,
    nowMs: number,
    lease: SessionLease | undefined,
  ): MaybePromise<Event> {
    switch (outcome.status) {
      case 'stored':
        if (outcome.seq === session.lastSeq + 1) {
          showAppend(session, plan, outcome.seq, nowMs);
          return plan.event;
        }
        return whenReady(this.#catchUp(session, outcome.seq), () => {
          showTemp(session, plan);
          return plan.event;
        });
      case 'duplicate':
        return whenReady(this.#catchUp(session, outcome.lastSeq), () => outcome.event);
      case 'missing':
        throw notFoundError(sessionKeyOf(session));
      case 'stale':
      case 'busy':
        throw lease && outcome.status === 'stale' ? staleError(lease) : busyError(sessionKeyOf(session));
    }
  }

  #catchUp(session: Session, seq: number): MaybePromise<void> {
    if (session.lastSeq >= seq) return;
    const window = { ...ALL_EVENTS, afterSeq: session.lastSeq };
    return whenReady(this.#driver.readSession(sessionKeyOf(session), window), (stored) => {
      if (stored) showStored(session, stored);
    });
  }
}

/** The event with a time after what compactions cover; one without a time is of now. */
function datedAfter(coveredUntil: number, event: Event, nowMs: number): Event {
  const timestamp = event.timestamp === 0 ? nowMs / 1000 : event.timestamp;
  // NaN is left for the check of the event to refuse.
  if (timestamp <= coveredUntil) return { ...event, timestamp: afterCovered(timestamp, coveredUntil) };
  return timestamp === event.timestamp ? event : { ...event, timestamp };
}

function isLeaseOf(lease: SessionLease, session: Session): boolean {
  return lease.sessionId === session.id && lease.userId === session.userId && lease.appName === session.appName;
}
