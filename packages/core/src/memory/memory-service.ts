import type { Content } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import type { Session } from '../session/session.ts';
import type { SessionKey } from '../session/session-key.ts';

/** One memory of a user. */
export interface MemoryEntry {
  /** The remembered text, without thoughts, calls and files. */
  readonly content: Content;
  /** Opaque id, unique among the memories of the user. */
  readonly id?: string;
  /** Id of the session that the remembered event belongs to. */
  readonly sessionId?: string;
  /** `user`, or the agent's name. */
  readonly author?: string;
  /** Time of the remembered event: RFC 3339, UTC, as in the ADK. Models read it unchanged. */
  readonly timestamp?: string;
  /** Further data of the back end. */
  readonly customMetadata?: Readonly<Record<string, unknown>>;
}

/** Parameters of `addEventsToMemory`. */
export interface AddEventsToMemoryRequest extends SessionKey {
  readonly events: readonly Event[];
}

/** Parameters of `searchMemory`. */
export interface SearchMemoryRequest {
  readonly appName: string;
  readonly userId: string;
  /** Words in any language. Only the first 64 different words are used. */
  readonly query: string;
  /** Maximum number of memories. Default 10, upper limit 100. */
  readonly limit?: number | undefined;
  /** Leaves out memories of this session. */
  readonly exceptSessionId?: string | undefined;
}

/** The memories that were found, best first. */
export interface SearchMemoryResponse {
  readonly memories: MemoryEntry[];
}

/** Parameters of `deleteMemory`. */
export interface DeleteMemoryRequest {
  readonly appName: string;
  readonly userId: string;
  /** `id` of a memory that a search returned. */
  readonly memoryId: string;
}

/** Parameters of `deleteMemories`. */
export interface DeleteMemoriesRequest {
  readonly appName: string;
  readonly userId: string;
  /** Deletes only the memories of this session. Default: all memories of the user. */
  readonly sessionId?: string | undefined;
}

/**
 * The contract of memory services, which remember what was said in a user's sessions, so that agents find it in later
 * ones. Events are added with `context.addSessionToMemory()`, and found by their words: by the model with the tool
 * `LOAD_MEMORY`, by code with `searchMemory`. The suite in `@eventloom/memory/conformance` checks everything that is
 * stated here.
 *
 * **Owner.** A memory belongs to one user of one app. No other user and no other app can find it.
 *
 * **Content.** An event is remembered if it has text, or a complete transcription, with at least one word. Only its
 * text parts are kept, without thoughts, calls, results, files and metadata, and at most 10,000 characters of them.
 * These are not remembered: partial events, errors, rewound events, events of agents that are called as tools, and
 * events of the framework or of graph nodes (transfer announcements, `preprocessing.*`, `postprocessing.*`, summaries).
 *
 * **Idempotence.** An event is identified by its session and its id. Adding it again changes nothing, so a session may be added
 * after every turn. A call adds all of its events or none.
 *
 * **Search.** Words are runs of Unicode letters, marks and numbers, any script, and single emoji, in any colour; a run
 * of more than 64 is several. Case, width, accents and vowel points make no difference, nor do the prefixes that Arabic
 * and Hebrew join to a word (the article, "and", prepositions). In scripts that put no spaces between words, or join
 * endings to them (Han, Hiragana, Katakana, Bopomofo, Hangul, Thai, Lao, Khmer, Myanmar), each pair of neighbours is a
 * word, and so is a single one. A memory is found when it has a word of the query. A word has more weight if fewer of
 * the user's memories contain it. The memory with the highest sum of weights is first; among equal ones the one with
 * the later event, then the one that was added later.
 *
 * Arguments and results are copies: changing them changes nothing stored. Every method throws InvalidRequestError for a
 * malformed, empty or over-long (256 bytes) name, which changes nothing, and StorageError when the storage cannot be used: it is locked,
 * full or cannot be reached.
 */
export abstract class BaseMemoryService {
  /**
   * Adds the events of this session object, which may be a part of the session. Events that a rewind among them undoes are
   * forgotten, even if they were added earlier.
   * @throws InvalidRequestError for an event without an id or a time
   */
  abstract addSessionToMemory(session: Session): Promise<void>;

  /**
   * Adds only these events of a session, for example those of the last turn; otherwise like `addSessionToMemory`.
   * @throws InvalidRequestError for an event without an id or a time
   */
  abstract addEventsToMemory(request: AddEventsToMemoryRequest): Promise<void>;

  /**
   * Returns the user's memories that match the query, best match first; empty for a query without words.
   * @throws InvalidRequestError for a query that is not a string, or a limit that is not a positive integer
   */
  abstract searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;

  /** Deletes one memory permanently: adding its session again does not restore it. A no-op if it does not exist. */
  abstract deleteMemory(request: DeleteMemoryRequest): Promise<void>;

  /**
   * Deletes all memories of a user or of one of their sessions, including the ids of their events: a session that is added again is
   * remembered again. Delete the session as well to prevent that. A no-op if there are none.
   */
  abstract deleteMemories(request: DeleteMemoriesRequest): Promise<void>;
}
