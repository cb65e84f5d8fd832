import type { Content, MaybePromise, SessionKey } from '@eventloom/core';
import type { MemoryRewind } from './rewound-events.ts';

/** The user who owns memories. */
export interface MemoryOwner {
  readonly appName: string;
  readonly userId: string;
}

/** A memory to store. Immutable. */
export interface NewMemory {
  readonly eventId: string;
  readonly invocationId: string;
  /** Time of the event in seconds since the epoch. */
  readonly timestamp: number;
  readonly author: string;
  readonly content: Content;
  /**
   * The words that a search finds the memory by: unique, well-formed Unicode, never empty, as split by
   * MEMORY_WORDS_VERSION.
   */
  readonly words: ReadonlySet<string>;
}

/** A memory as a driver returns it. The reader may modify the content. */
export interface StoredMemory {
  readonly sessionId: string;
  readonly eventId: string;
  readonly timestamp: number;
  readonly author: string;
  readonly content: Content;
}

/** The memories that a rewind removes. */
export interface MemoryRetreat {
  readonly rewinds: readonly MemoryRewind[];
  /** Ids of events that are known to be removed by the rewind. */
  readonly eventIds: readonly string[];
}

/** The number of a user's memories that have each word. */
export interface WordCounts {
  /** Number of memories that the user has. */
  readonly memories: number;
  /** Number of memories by word. Words without a memory may be left out. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Parameters of a search in a driver. */
export interface MemorySearch {
  /** The weight of each word, an integer. The rank of a memory is the sum of the weights of its words. */
  readonly weights: ReadonlyMap<string, number>;
  readonly limit: number;
  /** Session whose memories are left out; undefined to search all sessions. */
  readonly exceptSessionId: string | undefined;
}

/**
 * Storage for memories, to be implemented by a back end. `DriverMemoryService` decides which events are remembered,
 * splits text into words and computes their weights. It calls the driver with valid arguments only.
 */
export interface MemoryDriver {
  /** Returns the ids of those events of a session that are remembered already and need not be added again. */
  rememberedEvents(key: SessionKey, eventIds: readonly string[]): MaybePromise<ReadonlySet<string>>;

  /** Stores memories of a session, all or none. Skips memories whose event is remembered already or was deleted by `delete`. */
  add(key: SessionKey, memories: readonly NewMemory[]): MaybePromise<void>;

  /**
   * Removes memories of a session: those with these event ids, and for each rewind those from its invocation's earliest memory up to the
   * time of the rewind. Memories with the same time as the earliest are removed if they were added after it. The events may be added
   * again.
   */
  retreat(key: SessionKey, retreat: MemoryRetreat): MaybePromise<void>;

  countWords(owner: MemoryOwner, words: readonly string[]): MaybePromise<WordCounts>;

  /**
   * Returns the memories with at least one of the words, highest rank first; with equal rank the later timestamp, then
   * the later added first.
   */
  search(owner: MemoryOwner, search: MemorySearch): MaybePromise<StoredMemory[]>;

  /** Removes a memory, and records that its event must not be remembered again. Does nothing if the memory does not exist. */
  delete(key: SessionKey, eventId: string): MaybePromise<void>;

  /** Removes all memories of a user, or of one session, and the records of `delete`. Does nothing if there are none. */
  deleteAll(owner: MemoryOwner, sessionId: string | undefined): MaybePromise<void>;
}
