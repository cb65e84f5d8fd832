import type { Event } from '../event/event.ts';
import type { SessionKey } from './session-key.ts';

/** One conversation: its state and its events. */
export interface Session {
  /** Id of the session, unique for its user and app. */
  readonly id: string;
  /** Name of the app. */
  readonly appName: string;
  /** Id of the user that the session belongs to. */
  readonly userId: string;
  /**
   * Merged view of the app's, the user's and the session's state, keys with their prefixes. To change it, write to
   * `context.state`: a write to the session of a context throws, and one to a session that was fetched changes only the
   * fetched object. `context.state.toRecord()` returns a plain copy. `structuredClone(session.state)` throws for the
   * session of a context, whose state is a proxy: write `structuredClone({ ...session.state })`.
   */
  readonly state: Record<string, unknown>;
  /** Events in append order: all of them, or those that `GetSessionConfig` selects. */
  readonly events: Event[];
  /** Time of the last append, or of the creation, in seconds since the epoch. */
  lastUpdateTime: number;
  /** Number of events ever appended, which is the sequence number of the last one. 0 for a new session. */
  lastSeq: number;
  /** Opaque token that distinguishes this session from a deleted one with the same id. */
  readonly incarnation: string;
}

/** JSON of a session in the responses of the ADK's HTTP server. */
export interface SessionJson {
  readonly id: string;
  readonly appName: string;
  readonly userId: string;
  readonly state: Record<string, unknown>;
  readonly events: readonly Event[];
  readonly lastUpdateTime: number;
}

/** Returns the key of a session. */
export function sessionKeyOf(session: Session): SessionKey {
  return { appName: session.appName, userId: session.userId, sessionId: session.id };
}
