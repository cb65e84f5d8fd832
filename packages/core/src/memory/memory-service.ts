import type { Content } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import type { Session, SessionKey } from '../session/session.ts';

/** Something remembered. */
export interface MemoryEntry {
  /** The remembered text, without thoughts, calls and files. */
  readonly content: Content;
  /** Names the memory among those of its user; opaque. */
  readonly id?: string;
  /** The session it was said in. */
  readonly sessionId?: string;
  /** `user`, or the agent's name. */
  readonly author?: string;
  /** Time of the remembered event: RFC 3339, UTC, as in the ADK. Models read it unchanged. */
  readonly timestamp?: string;
  /** Further data of the back end. */
  readonly customMetadata?: Readonly<Record<string, unknown>>;
}

/** Adds some events of a session to memory. */
export interface AddEventsToMemoryRequest extends SessionKey {
  readonly events: readonly Event[];
}

/** Looks for memories of one user. */
export interface SearchMemoryRequest {
  readonly appName: string;
  readonly userId: string;
  /** Words in any language. Of a long query the first 64 different words count. */
  readonly query: string;
  /** At most so many; default 10, maximum 100. */
  readonly limit?: number | undefined;
  /** Leaves out what was said in this session. */
  readonly exceptSessionId?: string | undefined;
}

/** The memories that were found, best first. */
export interface SearchMemoryResponse {
  readonly memories: MemoryEntry[];
}

/** Names one memory. */
export interface DeleteMemoryRequest {
  readonly appName: string;
  readonly userId: string;
  /** The `id` that a search gave. */
  readonly memoryId: string;
}

/** Names the memories of a user, or those of one of their sessions. */
export interface DeleteMemoriesRequest {
  readonly appName: string;
  readonly userId: string;
  /** All of the user's memories when absent. */
  readonly sessionId?: string | undefined;
}

/**
 * Remembers across the sessions of a user: what every back end promises, and what the conformance suite in
 * `@eventloom/memory/conformance` checks.
 *
 * **Whose.** A memory belongs to one user of one app. No other user and no other app ever finds it.
 *
 * **What.** An event is remembered when it holds text, or a whole transcription, with at least one word in it. Its text parts are
 * kept and nothing else: no thoughts, calls, results, files or metadata. Not remembered are partial events, errors, what was
 * rewound, and what the framework or a graph node says of its work: hand-off announcements, `preprocessing.*`,
 * `postprocessing.*`, summaries, and what an agent says inside while it serves another as a tool. Of a longer text the first
 * 10,000 characters are kept.
 *
 * **Once.** An event is told by its session and its id: adding it again changes nothing, so a session may be added after every
 * turn. All of a call is added, or nothing of it.
 *
 * **Found.** Words are runs of Unicode letters, marks and numbers, any script, and single emoji, in any colour; a run of more than 64
 * is several. Case, width, accents and vowel points make no difference, nor does what Arabic and Hebrew join to the front of a word
 * (the article, "and", prepositions). In scripts that put no spaces between words, or join endings to them (Han, Hiragana,
 * Katakana, Bopomofo, Hangul, Thai, Lao, Khmer, Myanmar), each pair of neighbours is a word, and so is a single one. A memory is found when it has a word of the query. A word counts more the fewer
 * of the user's memories have it; the memory with the highest sum is first, of equal ones the later said, then the later added.
 *
 * What is given and what is found are copies: changing them changes nothing stored. Every method throws InvalidRequestError for a
 * malformed, empty or over-long (256 bytes) name, which changes nothing, and StorageError when the storage cannot be used: it is locked,
 * full or cannot be reached.
 */
export abstract class BaseMemoryService {
  /**
   * Remembers the events that this session object holds, which may be a window of all. What a rewind among them covers is
   * forgotten, also where it was added earlier.
   * @throws InvalidRequestError for an event without an id or a time
   */
  abstract addSessionToMemory(session: Session): Promise<void>;

  /**
   * Adds only these events of a session, for example those of the last turn; otherwise like `addSessionToMemory`.
   * @throws InvalidRequestError for an event without an id or a time
   */
  abstract addEventsToMemory(request: AddEventsToMemoryRequest): Promise<void>;

  /**
   * The user's memories that fit the query best. A query without words finds nothing.
   * @throws InvalidRequestError for a query that is no text, or a limit that is no positive integer
   */
  abstract searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;

  /** Forgets one memory: adding its session again does not bring it back. Absent: a no-op. */
  abstract deleteMemory(request: DeleteMemoryRequest): Promise<void>;

  /**
   * Forgets all of a user or of one of their sessions, and keeps nothing of it, not even which events they were: a session that
   * is added again is remembered again. Delete the session as well when it is to be gone. Absent: a no-op.
   */
  abstract deleteMemories(request: DeleteMemoriesRequest): Promise<void>;
}
