import {
  type AcquireLeaseRequest,
  type AppendEventRequest,
  type AppendEventsRequest,
  BaseSessionService,
  type BeginRunRequest,
  type BegunRun,
  type CreateSessionRequest,
  type EndRunRequest,
  type Event,
  type FindRunRequest,
  type GetSessionConfig,
  type GetSessionRequest,
  type ImportSessionRequest,
  type ListEventsRequest,
  type ListEventsResponse,
  type ListOpenRunsRequest,
  type ListOpenRunsResponse,
  type ListRunWebhooksRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type ListToolCallsRequest,
  type MaybePromise,
  nearestNames,
  type Platform,
  type PutRunWebhookRequest,
  type ReleaseLeaseOptions,
  type RunRecord,
  type RunWebhook,
  type RunWebhookChange,
  type Session,
  type SessionKey,
  type SessionLease,
  type SessionRecord,
  systemPlatform,
  type ToolLedgerEntry,
  InvalidRequestError,
} from '@eventloom/core';
import {
  checkArgument,
  checkName,
  checkStateDelta,
  checkToolCall,
  sessionKeyOf,
  toStateWrites,
  type OptionRules,
  checkDriver,
  checkOptions,
  describeKind,
  isRecord,
} from '@eventloom/core/internal';
import { type AppendPlan, NO_WRITES, planAppend } from './append-plan.ts';
import {
  busyError,
  deletedError,
  existsError,
  knownError,
  notFoundError,
  runNotFoundError,
  staleBeginError,
  staleError,
  unfinishedError,
} from './errors.ts';
import { ALL_EVENTS, toEventWindow, showAppend, showStored, showTemp, toSession } from './session-view.ts';
import { exportSession } from './export-session.ts';
import type { LeaseClaim } from './lease-claim.ts';
import { planImport } from './import-plan.ts';
import { listOpenRuns, listSessions, showEventPage, toEventPage, toPageSize } from './listings.ts';
import type { AppendOutcome, EventAppend, RunRefusal, SessionDriver, TakenRun } from './session-driver.ts';
import { SessionLeases } from './session-leases.ts';
import { whenReady } from './when-ready.ts';

/** An append of the driver, with the changes to the caller's session object. */
interface PlannedAppend extends EventAppend, AppendPlan {}

/** The message of a run that begins. A claim that waits for its session plans it at each attempt; the last plan is stored. */
interface BeginMessage {
  /** The message as it was given, with an id; undefined for a run without one. */
  readonly event: Event | undefined;
  /** Undefined until the driver asks for the message. */
  plan: AppendPlan | undefined;
  /** The time of the plan. */
  nowMs: number;
}

/** Options of every session service. */
export interface DriverSessionServiceOptions {
  /** Clock, ids, random numbers and timers, to be replaced in tests. Default: those of the system. */
  readonly platform?: Platform | undefined;
}

const OPTIONS: OptionRules<DriverSessionServiceOptions> = { platform: 'object' };

/**
 * A session service over a `SessionDriver`. It implements everything in the contract that is not storage. With a driver that answers
 * synchronously, calls need no further turn of the event loop.
 *
 * An event with an empty id or a timestamp of 0 gets one when it is appended. A session object that lacks stored events gets all of them.
 * At most 1,000 callers of a service wait for one session; further callers get SessionBusyError immediately. Names are at most 256 bytes,
 * the entry ids of the ledger at most 2,304.
 */
export class DriverSessionService extends BaseSessionService {
  readonly #driver: SessionDriver;
  readonly #platform: Platform;
  readonly #leases: SessionLeases;
  /** The last session whose names were valid, because a turn uses the same session in each of its calls. */
  #checked: SessionKey | undefined;
  /** The last tool call that was recorded as started: its names are valid, and most calls share some of them. */
  #startedCall: ToolLedgerEntry | undefined;

  /** @throws ConfigurationError for a value that is not a driver, and for an unknown option */
  constructor(driver: SessionDriver, options: DriverSessionServiceOptions = {}) {
    super();
    checkOptions(new.target.name, OPTIONS, options);
    checkDriver('DriverSessionService', driver, 'createSession', 'new MySessionDriver()');
    this.#driver = driver;
    this.#platform = options.platform ?? systemPlatform;
    this.#leases = new SessionLeases(driver, this.#platform);
  }

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    checkArgument('createSession({ appName, userId, sessionId })', request);
    checkFields('createSession', CREATE_FIELDS, request);
    if (request.state && !isRecord(request.state)) {
      const kind = describeKind(request.state);
      throw new InvalidRequestError(
        `createSession: state: expected an object, got ${kind}; write state: { city: 'Rome' }`,
      );
    }
    const { appName, userId, sessionId = this.#platform.newUuid(), state } = request;
    this.#check(appName, userId, sessionId);
    const writes = state ? toStateWrites(checkStateDelta(state)) : NO_WRITES;
    const nowMs = this.#platform.now();
    let created = this.#driver.createSession({ appName, userId, sessionId, writes, nowMs });
    if (created instanceof Promise) created = await created;
    if (!created) throw existsError({ appName, userId, sessionId });
    return toSession({ ...created, appName, userId, sessionId, updatedAtMs: nowMs, lastSeq: 0, events: [] });
  }

  override getSession(request: GetSessionRequest): MaybePromise<Session | undefined> {
    checkArgument('getSession({ appName, userId, sessionId })', request);
    const { appName, userId, sessionId, config } = request;
    if (config !== undefined) checkConditions(config);
    this.#check(appName, userId, sessionId);
    return whenReady(this.#driver.readSession(request, toEventWindow(config)), (stored) => stored && toSession(stored));
  }

  override countWithin({ config, ...key }: GetSessionRequest, maxBytes: number): MaybePromise<number | undefined> {
    return this.#driver.countWithin?.(key, toEventWindow(config), maxBytes);
  }

  override listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    checkArgument('listSessions({ appName, userId })', request);
    checkFields('listSessions', LIST_FIELDS, request);
    return listSessions(this.#driver, request);
  }

  override async listEvents(request: ListEventsRequest): Promise<ListEventsResponse> {
    this.#check(request.appName, request.userId, request.sessionId);
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
    checkArgument('importSession({ records })', request);
    const session = await planImport(request, this.#platform.now());
    const { appName, userId, sessionId, updatedAtMs, events } = session;
    this.#check(appName, userId, sessionId);
    const created = await this.#driver.importSession(session);
    if (!created) throw existsError(session);
    const lastSeq = events.length;
    return toSession({ ...created, appName, userId, sessionId, updatedAtMs, lastSeq, events: [...events] });
  }

  override async deleteSession(request: SessionKey): Promise<void> {
    checkArgument('deleteSession({ appName, userId, sessionId })', request);
    this.#check(request.appName, request.userId, request.sessionId);
    const deleted = this.#driver.deleteSession(request);
    if (deleted instanceof Promise) await deleted;
    this.#leases.wake(request);
  }

  override appendEvent(request: AppendEventRequest): MaybePromise<Event> {
    if (!request?.event || !request.session)
      throw new InvalidRequestError('appendEvent: session or event is missing; write appendEvent({ session, event })');
    const { session, event, lease, repeatedState } = request;
    if (event.partial === true) return event;
    const append = this.#planned(session, event, lease, repeatedState);
    if (!lease && this.#leases.isAwaited(append)) return this.#appendInTurn(session, append);
    const outcome = this.#driver.appendEvent(append);
    // `whenReady` is not used: its closure would cost more per event than the append itself.
    return outcome instanceof Promise
      ? outcome.then((settled) => this.#applyOutcome(session, append, settled))
      : this.#applyOutcome(session, append, outcome);
  }

  override checkAppend({
    appName,
    userId,
    sessionId,
    event: given,
  }: SessionKey & Pick<AppendEventRequest, 'event'>): MaybePromise<void> {
    this.#check(appName, userId, sessionId);
    const nowMs = this.#platform.now();
    const { event, writes } = planAppend(given, nowMs, this.#platform);
    return this.#driver.checkAppend?.({ appName, userId, sessionId, event, writes, nowMs });
  }

  override async appendEvents({ session, appends, lease }: AppendEventsRequest): Promise<Event[]> {
    const planned = appends.map(({ event, repeatedState }) => this.#planned(session, event, lease, repeatedState));
    const outcomes = await this.#driver.appendEvents(planned);
    const events: Event[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const append = planned[index];
      if (append) events.push(await this.#applyOutcome(session, append, outcome));
    }
    return events;
  }

  override beginRun(request: BeginRunRequest): MaybePromise<BegunRun> {
    const { appName, userId, sessionId, invocationId, resumable = false, continues = false, lastEpoch } = request;
    const requestId = request.requestId === invocationId ? undefined : request.requestId;
    checkName('invocationId', invocationId);
    if (requestId !== undefined) checkName('requestId', requestId);
    this.#check(appName, userId, sessionId);
    if (request.webhook) checkName('webhook.id', request.webhook.id);
    const webhook = request.webhook && { ...request.webhook, appName, userId, sessionId, invocationId };
    const window = toEventWindow(request.read);
    const given = request.message;
    const event = given && given.id === '' ? { ...given, id: this.#platform.newEventId() } : given;
    if (event) checkName('event.id', event.id);
    const isStored = event !== undefined && event.partial !== true;
    const message: BeginMessage = { event, plan: undefined, nowMs: 0 };

    // Fields one by one: a copy of the claim with the others would cost 140 bytes a turn.
    const begin = ({ nowMs, ttlMs, takeOver, ticket }: LeaseClaim, existed: boolean) =>
      this.#driver.beginRun({
        appName,
        userId,
        sessionId,
        nowMs,
        ttlMs,
        takeOver,
        ticket,
        invocationId,
        requestId,
        resumable,
        continues,
        lastEpoch,
        create: request.create === true && !continues && !existed,
        webhook,
        window,
        message: isStored
          ? (coveredUntil) => {
              message.nowMs = nowMs;
              return (message.plan = planAppend(event, nowMs, this.#platform, coveredUntil));
            }
          : undefined,
      });

    if (requestId !== undefined && this.#leases.isAwaited(request))
      // A caller that would wait gets RequestKnownError immediately.
      return whenReady(this.#driver.findRun(request, requestId), (known) => {
        if (known && known.invocationId !== invocationId) throw knownError(request, requestId, known.invocationId);
        return whenReady(this.#leases.take(request, begin), (outcome) => toBegunRun(request, message, outcome));
      });
    const outcome = this.#leases.take(request, begin);
    return outcome instanceof Promise
      ? outcome.then((settled) => toBegunRun(request, message, settled))
      : toBegunRun(request, message, outcome);
  }

  override endRun(lease: SessionLease, request: EndRunRequest): MaybePromise<Event | undefined> {
    const { session, event, keepRunOpen = false, outcome } = request;
    if (outcome?.code !== undefined) checkName('outcome.code', outcome.code);
    if (event === undefined || event.partial === true) {
      const released = this.#driver.releaseLease(lease, keepRunOpen, outcome && { outcome });
      if (released === true) {
        this.#leases.wake(lease);
        return event;
      }
      return whenReady(released, (isLive) => {
        this.#leases.wake(lease);
        return isLive ? event : whenReady(this.#checkEnded(lease, request), () => event);
      });
    }
    const append = this.#planned(session, event, lease);
    const ended = this.#driver.endRun({ ...append, lease, keepRunOpen, outcome });
    if (!(ended instanceof Promise)) {
      this.#leases.wake(lease);
      return this.#applyOutcome(session, append, ended);
    }
    return ended.then((appended) => {
      this.#leases.wake(lease);
      return this.#applyOutcome(session, append, appended);
    });
  }

  /**
   * Checks that the run of this lease has ended with this outcome, because an end may be repeated.
   *
   * @throws StaleWriterError
   */
  #checkEnded(lease: SessionLease, { keepRunOpen, outcome }: EndRunRequest): MaybePromise<void> {
    return whenReady(this.#driver.findRun(lease, lease.invocationId ?? ''), (record) => {
      const { open, end } = record ?? {};
      const isEnded = record !== undefined && !open && !keepRunOpen;
      if (!isEnded || end?.state !== outcome?.state || end?.code !== outcome?.code) throw staleError(lease);
    });
  }

  override async acquireLease(request: AcquireLeaseRequest): Promise<SessionLease> {
    this.#check(request.appName, request.userId, request.sessionId);
    return this.#leases.acquire(request);
  }

  override renewLease(lease: SessionLease): MaybePromise<void> {
    return whenReady(this.#driver.renewLease(lease, this.#platform.now()), (isLive) => {
      if (!isLive) throw staleError(lease);
    });
  }

  override releaseLease(
    lease: SessionLease,
    { keepRunOpen = false, outcome, forget }: ReleaseLeaseOptions = {},
  ): MaybePromise<void> {
    if (outcome?.code !== undefined) checkName('outcome.code', outcome.code);
    const changes = outcome || forget ? { outcome, forget } : undefined;
    const released = this.#driver.releaseLease(lease, keepRunOpen, changes);
    return released instanceof Promise ? released.then(() => this.#leases.wake(lease)) : this.#leases.wake(lease);
  }

  override findRun(request: FindRunRequest): MaybePromise<RunRecord | undefined> {
    this.#check(request.appName, request.userId, request.sessionId);
    checkName('id', request.id);
    return this.#driver.findRun(request, request.id);
  }

  override cancelRequest(request: FindRunRequest): MaybePromise<RunRecord | undefined> {
    this.#check(request.appName, request.userId, request.sessionId);
    checkName('id', request.id);
    return this.#driver.cancelRequest(request, request.id);
  }

  override listOpenRuns(request: ListOpenRunsRequest): Promise<ListOpenRunsResponse> {
    return listOpenRuns(this.#driver, request);
  }

  override putRunWebhook(request: PutRunWebhookRequest): MaybePromise<void> {
    this.#check(request.appName, request.userId, request.sessionId);
    checkName('id', request.id);
    checkName('invocationId', request.invocationId);
    return whenReady(this.#driver.putRunWebhook(request), (isFound) => {
      if (!isFound) throw runNotFoundError(request, request.invocationId);
    });
  }

  override listRunWebhooks(request: ListRunWebhooksRequest): MaybePromise<RunWebhook[]> {
    const { appName, userId, includeOpen = false, limit } = request;
    checkName('appName', appName);
    if (userId !== undefined) checkName('userId', userId);
    return this.#driver.listRunWebhooks({ appName, userId, includeOpen, limit: toPageSize(limit) });
  }

  override changeRunWebhook(webhook: RunWebhook, change: RunWebhookChange | undefined): MaybePromise<boolean> {
    return this.#driver.changeRunWebhook(webhook, change);
  }

  override recordToolCall(lease: SessionLease, entry: ToolLedgerEntry): MaybePromise<void> {
    const checked = checkToolCall(entry, '', this.#startedCall);
    if (checked.status === 'started') this.#startedCall = checked;
    const recorded = this.#driver.recordToolCall(lease, checked);
    if (recorded === true) return undefined;
    return whenReady(recorded, (isLive) => {
      if (!isLive) throw staleError(lease);
    });
  }

  override listToolCalls(request: ListToolCallsRequest): MaybePromise<ToolLedgerEntry[]> {
    this.#check(request.appName, request.userId, request.sessionId);
    checkName('invocationId', request.invocationId);
    return this.#driver.listToolCalls(request, request.invocationId);
  }

  override checkWritable(): MaybePromise<void> {
    return this.#driver.checkWritable();
  }

  /** @throws InvalidRequestError for an invalid name */
  #check(appName: string, userId: string, sessionId: string): void {
    const last = this.#checked;
    if (last && last.sessionId === sessionId && last.userId === userId && last.appName === appName) return;
    if (!last || last.appName !== appName) checkName('appName', appName);
    if (!last || last.userId !== userId) checkName('userId', userId);
    checkName('sessionId', sessionId);
    this.#checked = { appName, userId, sessionId };
  }

  /** Returns the append for the driver, with the changes to the session object. */
  #planned(
    session: Session,
    event: Event,
    lease: SessionLease | undefined,
    repeated?: ReadonlySet<string>,
  ): PlannedAppend {
    const { appName, userId, id: sessionId, incarnation } = session;
    this.#check(appName, userId, sessionId);
    const nowMs = this.#platform.now();
    const plan = planAppend(event, nowMs, this.#platform, undefined, repeated);
    const { event: stored, writes, stateDelta, removedState } = plan;
    if (lease && (lease.sessionId !== sessionId || lease.userId !== userId || lease.appName !== appName))
      throw staleError(lease);
    return { appName, userId, sessionId, incarnation, event: stored, writes, nowMs, lease, stateDelta, removedState };
  }

  /** Appends to a session that is held or has a queue: waits for a lease, and appends under it. */
  async #appendInTurn(session: Session, append: PlannedAppend): Promise<Event> {
    const lease = await this.#leases.acquire(sessionKeyOf(session));
    try {
      const underLease = { ...append, lease, nowMs: this.#platform.now() };
      return await this.#applyOutcome(session, underLease, await this.#driver.appendEvent(underLease));
    } finally {
      await this.releaseLease(lease);
    }
  }

  /** Converts an outcome to the caller's result, and updates a session object that lacks earlier events. */
  #applyOutcome(session: Session, append: PlannedAppend, outcome: AppendOutcome): MaybePromise<Event> {
    const { event, lease, nowMs } = append;
    switch (outcome.status) {
      case 'stored':
        if (outcome.seq === session.lastSeq + 1) {
          showAppend(session, append, outcome.seq, nowMs);
          return event;
        }
        return whenReady(this.#catchUp(session, outcome.seq), () => {
          showTemp(session, append);
          return event;
        });
      case 'duplicate': {
        // The append repeats one whose answer was lost.
        const isUnknown = session.lastSeq < outcome.lastSeq;
        return whenReady(this.#catchUp(session, outcome.lastSeq), () => {
          if (isUnknown) showTemp(session, append);
          return outcome.event;
        });
      }
      case 'missing':
        throw deletedError(sessionKeyOf(session));
      case 'busy':
        if (!lease) return this.#appendInTurn(session, append);
        throw busyError(sessionKeyOf(session));
      case 'stale':
        throw lease ? staleError(lease) : busyError(sessionKeyOf(session));
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

/**
 * Returns the run that holds its session, with the message in its session object.
 *
 * @throws the errors of `BaseSessionService.beginRun` for a run that the driver refused
 */
function toBegunRun(
  request: BeginRunRequest,
  { event, plan, nowMs }: BeginMessage,
  outcome: RunRefusal | TakenRun,
): BegunRun {
  if (outcome.status === 'open') throw unfinishedError(outcome.run);
  if (outcome.status === 'known') throw knownError(request, request.requestId ?? '', outcome.invocationId);
  if (outcome.status === 'unknown') throw runNotFoundError(request, request.invocationId);
  if (outcome.status === 'stale') throw staleBeginError(request);
  const { lease, session: stored, duplicate, firstSeq, wasOpen } = outcome;
  const session = toSession(stored);
  if (plan && duplicate) showTemp(session, plan);
  else if (plan) showAppend(session, plan, session.lastSeq + 1, nowMs);
  return { lease, session, message: duplicate ?? plan?.event ?? event, firstSeq, wasOpen };
}

const CREATE_FIELDS: readonly (keyof CreateSessionRequest)[] = ['appName', 'userId', 'sessionId', 'state'];
const CONDITIONS: readonly (keyof GetSessionConfig)[] = [
  'numRecentEvents',
  'afterTimestamp',
  'afterSeq',
  'beforeSeq',
  'sinceCompaction',
];
const LIST_FIELDS: readonly (keyof ListSessionsRequest)[] = ['appName', 'userId', 'limit', 'cursor'];

/** @throws InvalidRequestError for a wrong field name in place of a missing one, such as `user_id` or `id` */
function checkFields<R extends object>(method: string, fields: readonly (keyof R & string)[], request: R): void {
  for (const name in request) {
    if (fields.includes(name as keyof R & string)) continue;
    const [near] = name === 'id' ? ['sessionId'] : nearestNames(name, fields);
    const meant = fields.find((field) => field === near);
    if (meant !== undefined && request[meant] === undefined)
      throw new InvalidRequestError(`${method}: has no option "${name}"; did you mean "${meant}"?`);
  }
}

/** Checks the names of the conditions of a read; `toEventWindow` checks their values. @throws InvalidRequestError */
function checkConditions(config: GetSessionConfig): void {
  checkArgument('{ numRecentEvents: 10 }', config);
  checkFields('getSession: config', CONDITIONS, config);
}
