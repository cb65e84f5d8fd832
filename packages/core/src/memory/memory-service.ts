import type { Content } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import type { Session, SessionKey } from '../session/session.ts';

/** Something remembered. */
export interface MemoryEntry {
  readonly content: Content;
  readonly author?: string;
  /** RFC 3339. */
  readonly timestamp?: string;
}

/** Looks for memories of one user. */
export interface SearchMemoryRequest {
  readonly appName: string;
  readonly userId: string;
  readonly query: string;
}

/** What was found, best first. */
export interface SearchMemoryResponse {
  readonly memories: MemoryEntry[];
}

/** Remembers across the sessions of a user, and never across users. */
export abstract class BaseMemoryService {
  /** Adds all of a session's events, or those not yet added. */
  abstract addSessionToMemory(session: Session): Promise<void>;
  /** Adds some events of a session. Adding one twice is a no-op. */
  abstract addEventsToMemory(key: SessionKey, events: readonly Event[]): Promise<void>;
  abstract searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;
}
