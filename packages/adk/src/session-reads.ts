import {
  type AppendEventRequest,
  type BaseSessionService,
  type BeginRunRequest,
  type BegunRun,
  type CreateSessionRequest,
  type Event,
  type GetSessionRequest,
  InvalidRequestError,
  type ListSessionsRequest,
  type MaybePromise,
  type Session,
} from '@eventloom/core';
import { fillKind, isRecord, toSeconds } from '@eventloom/core/internal';
import { InMemorySessionService } from '@eventloom/sessions';
import type { Assignable } from './adk-types.ts';
import type { AdkListSessionsResponse, AdkRunSessions, AdkSession } from './base-session-service.ts';
import { toAdkEvent } from './event-fields.ts';

/**
 * The `InMemorySessionService` for programs that were written for `@google/adk`: that of `eventloom`, which takes times
 * in milliseconds too, in `afterTimestamp` and in events that a program appends, and whose events have the fields that
 * programs of the ADK read. The state of a session is an ordinary object, with methods such as `hasOwnProperty`.
 *
 * @example
 * const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
 */
export class AdkInMemorySessionService extends InMemorySessionService {
  /** The name of the class in error messages. */
  static override readonly name: string = 'InMemorySessionService';

  override async createSession(request: CreateSessionRequest): Promise<Session> {
    return withObjectState(await super.createSession(withoutEmptyId(request)));
  }

  override async getSession(request: GetSessionRequest): Promise<AdkSession | undefined> {
    return request?.lease ? super.getSession(request) : toAdkSession(await super.getSession(inSeconds(request)));
  }

  /**
   * Lists sessions as the service of `eventloom` does. A list of all sessions has the counts of the ADK too.
   * @throws InvalidRequestError for `page`, `offset` and `order`
   */
  override async listSessions(request: ListSessionsRequest): Promise<AdkListSessionsResponse> {
    return withCounts(await super.listSessions(withoutPages(request)), request);
  }

  override beginRun(request: BeginRunRequest): MaybePromise<BegunRun> {
    return afterwards(super.beginRun(request), withRunState);
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    // Runs read and append with a lease, and their streams give the events their fields.
    if (request?.lease) return super.appendEvent(request);
    await findStored(request?.session, (key) => super.getSession(key));
    return toAdkEvent(await super.appendEvent(stamped(request)));
  }
}

/**
 * Makes a service read and append as the `InMemorySessionService` for programs that were written for `@google/adk`
 * does. Returns the service.
 */
export function readAsAdk<S extends BaseSessionService>(service: S): S & AdkRunSessions {
  const createSession = service.createSession.bind(service);
  const getSession = service.getSession.bind(service);
  const beginRun = service.beginRun.bind(service);
  const appendEvent = service.appendEvent.bind(service);
  const listSessions = service.listSessions.bind(service);
  const reads: Pick<AdkRunSessions, 'createSession' | 'getSession' | 'listSessions' | 'beginRun' | 'appendEvent'> = {
    createSession: async (request) => withObjectState(await createSession(withoutEmptyId(request))),
    getSession: async (request) =>
      request?.lease ? getSession(request) : toAdkSession(await getSession(inSeconds(request))),
    listSessions: async (request) => withCounts(await listSessions(withoutPages(request)), request),
    beginRun: (request) => afterwards(beginRun(request), withRunState),
    appendEvent: async (request) => {
      if (request?.lease) return appendEvent(request);
      await findStored(request?.session, getSession);
      return toAdkEvent(await appendEvent(stamped(request)));
    },
  };
  READS.set(service, reads);
  return Object.assign(service, reads);
}

/** The methods of services that `readAsAdk` changed. */
const READS: WeakMap<BaseSessionService, Pick<BaseSessionService, 'appendEvent' | 'getSession'>> = new WeakMap();

/**
 * Returns the method of a service of this package that a subclass or the program has overridden, and that the ADK would call
 * for each run; undefined if there is none.
 */
export function overriddenMethod(service: BaseSessionService): 'appendEvent' | 'getSession' | undefined {
  const own =
    READS.get(service) ??
    (service instanceof AdkInMemorySessionService ? AdkInMemorySessionService.prototype : service);
  return (['appendEvent', 'getSession'] as const).find((method) => service[method] !== own[method]);
}

/** Lets a session object that a program has made itself stand for the stored session with its id, as in the ADK. */
async function findStored(
  session: Partial<Assignable<Session>> | undefined,
  getSession: (key: GetSessionRequest) => MaybePromise<Session | undefined>,
): Promise<void> {
  if (!isRecord(session) || session.incarnation) return;
  const { appName = '', userId = '', id: sessionId = '', lastSeq = 0 } = session;
  const stored = await getSession({ appName, userId, sessionId, config: { numRecentEvents: 0 } });
  if (stored) Object.assign(session, { incarnation: stored.incarnation, lastSeq });
}

/** Leaves out an empty id, which the ADK takes for none. */
function withoutEmptyId(request: CreateSessionRequest): CreateSessionRequest {
  if (request?.sessionId !== '') return request;
  const { sessionId: _, ...others } = request;
  return others;
}

/** Returns the request. @throws InvalidRequestError for one that asks for a page as the ADK does */
function withoutPages(request: ListSessionsRequest): ListSessionsRequest {
  const name = ['page', 'offset', 'order'].find((option) => isRecord(request) && request[option] !== undefined);
  if (name === undefined) return request;
  throw new InvalidRequestError(
    `listSessions: ${name} is not offered; write limit, and as cursor the nextCursor of the previous page`,
  );
}

function toAdkSession(session: Session | undefined): AdkSession | undefined {
  return session && { ...withObjectState(session), events: session.events.map((event) => toAdkEvent(event)) };
}

/** Gives the state of a session that was just read the methods of objects, which programs of the ADK call. Its keys stay data. */
function withObjectState(session: Session): Session {
  Object.setPrototypeOf(session.state, Object.prototype);
  return session;
}

/** Does the same for the session of a run. */
export function withRunState(begun: BegunRun): BegunRun {
  withObjectState(begun.session);
  return begun;
}

/**
 * Gives the sessions of a list ordinary states, and adds the counts of the ADK to a list without a limit. A page of a
 * longer list has none: counting would read all sessions.
 */
function withCounts(listed: AdkListSessionsResponse, { limit, cursor }: ListSessionsRequest): AdkListSessionsResponse {
  for (const session of listed.sessions) withObjectState(session);
  if (limit !== undefined || cursor !== undefined || listed.nextCursor !== undefined) return listed;
  const totalItems = listed.sessions.length;
  return { ...listed, page: 1, limit: totalItems, totalItems, totalPages: Math.min(totalItems, 1) };
}

/** Returns the request with `afterTimestamp` in seconds. */
function inSeconds(request: GetSessionRequest): GetSessionRequest {
  const afterTimestamp = request?.config?.afterTimestamp;
  if (typeof afterTimestamp !== 'number') return request;
  return { ...request, config: { ...request.config, afterTimestamp: toSeconds(afterTimestamp) } };
}

/**
 * Returns the request with an event that has its timestamp in seconds, and its kind, also if the program copied an
 * event and changed its content.
 */
function stamped(request: AppendEventRequest): AppendEventRequest {
  const { event: given } = request ?? {};
  if (typeof given?.timestamp !== 'number') return request;
  const event = { ...given, timestamp: toSeconds(given.timestamp) };
  fillKind(event);
  return { ...request, event };
}

function afterwards<T, R>(value: MaybePromise<T>, then: (value: T) => R): MaybePromise<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}
