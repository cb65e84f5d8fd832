import type { Event } from '../event/event.ts';

/** The key of a session. Ids are data: any text without NUL, at most 256 bytes. */
export interface SessionKey {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}

/** One conversation: its state and its events. */
export interface Session {
  readonly id: string;
  readonly appName: string;
  readonly userId: string;
  /** The merged view of the app's, the user's and the session's state, keys with their prefixes. Written through `context.state`. */
  readonly state: Readonly<Record<string, unknown>>;
  /** In the order they were appended; all of them, or the window that was asked for. */
  readonly events: Event[];
  /** Seconds since the epoch of the last append, or of the creation. */
  lastUpdateTime: number;
  /** Number of events ever appended: the sequence number of the last one. 0 for a new session. */
  lastSeq: number;
  /** Distinguishes this session from an earlier, deleted one of the same id. Opaque. */
  readonly incarnation: string;
}

/** The session as the ADK's HTTP server writes it. */
export interface SessionJson {
  readonly id: string;
  readonly appName: string;
  readonly userId: string;
  readonly state: Record<string, unknown>;
  readonly events: readonly Event[];
  readonly lastUpdateTime: number;
}

/** The key of a session. */
export function sessionKeyOf(session: Session): SessionKey {
  return { appName: session.appName, userId: session.userId, sessionId: session.id };
}
