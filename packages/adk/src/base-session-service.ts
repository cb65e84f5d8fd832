import {
  type AppendEventRequest,
  type BaseSessionService,
  type CreateSessionRequest,
  type Event,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type Session,
  type SessionKey,
  State,
} from '@eventloom/core';
import type { Assignable } from './adk-types.ts';
import type { AdkEvent } from './event-fields.ts';

/** A session, as programs that were written for `@google/adk` type it: its fields can be assigned. */
export interface AdkSession extends Assignable<Omit<Session, 'events'>> {
  events: AdkEvent[];
}

/** A page of sessions, in programs that were written for `@google/adk`, whose services also give counts. */
export interface AdkListSessionsResponse extends ListSessionsResponse {
  readonly sessions: AdkSession[];
  readonly page?: number;
  readonly limit?: number;
  readonly totalItems?: number;
  readonly totalPages?: number;
}

/** The sessions of a `Runner`, as programs that were written for `@google/adk` type them. */
export interface AdkRunSessions extends BaseSessionService {
  createSession(request: CreateSessionRequest): Promise<AdkSession>;
  getSession(request: GetSessionRequest): Promise<AdkSession | undefined>;
  appendEvent(request: AppendEventRequest): Promise<Event>;
  listSessions(request: ListSessionsRequest): Promise<AdkListSessionsResponse>;
}

/**
 * Base class of the session services of programs that were written for `@google/adk`, with the methods that it asks
 * for. A `Runner` of `eventloom/adk` runs on such a service: it calls these methods only, and keeps locks, runs and the
 * results of tool calls in memory. So one process may run a session at a time, and events that a program appends to the
 * service itself while a run works are not seen by that run. A service for several processes is a `SessionDriver` of
 * `@eventloom/sessions`.
 *
 * Sessions are created with `createSession`, and events are stored with the timestamps that they have, in seconds.
 */
export abstract class AdkBaseSessionService {
  /** The name of the class in error messages. */
  static readonly name: string = 'BaseSessionService';

  /** Creates a session. Without a `sessionId` the service chooses one. */
  abstract createSession(request: CreateSessionRequest): Promise<Session>;

  /** Returns the session with its events in the order in which they were appended, and its state; undefined if it does not exist. */
  abstract getSession(request: GetSessionRequest): Promise<AdkSession | undefined>;

  /** Returns the sessions of a user, or of all users of the app. Their events are not read. */
  abstract listSessions(request: ListSessionsRequest): Promise<AdkListSessionsResponse>;

  /** Deletes the session, if it exists. */
  abstract deleteSession(request: SessionKey): Promise<void>;

  /** Returns the session, and creates it if it does not exist. */
  async getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    const { appName, userId, sessionId } = request;
    const known = sessionId ? await this.getSession({ appName, userId, sessionId }) : undefined;
    return known ?? this.createSession(request);
  }

  /**
   * Adds an event and its state to the session object, without the `temp:` keys, and returns the event. A subclass that
   * stores sessions overrides the method, stores the event, and calls this one. A partial event is returned unchanged.
   */
  async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const { stateDelta, removedState = [] } = event.actions;
    const isKept = (key: string): boolean => !key.startsWith(State.TEMP_PREFIX);
    const kept = Object.entries(stateDelta).filter(([key]) => isKept(key));
    const stored = { ...event, actions: { ...event.actions, stateDelta: Object.fromEntries(kept) } };
    for (const [key, value] of kept)
      Object.defineProperty(session.state, key, { value, writable: true, enumerable: true, configurable: true });
    for (const key of removedState.filter(isKept)) delete session.state[key];
    const at = session.events.findIndex(({ id }) => id === event.id);
    if (at >= 0) session.events[at] = stored;
    else session.events.push(stored);
    return stored;
  }
}
