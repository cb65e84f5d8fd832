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
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly author: string;
  readonly content: Content;
  /**
   * The words that a search finds the memory by: unique, well-formed Unicode, never empty, as split by
   * MEMORY_WORDS_VERSION.
   */
  readonly words: ReadonlySet<string>;
}

/** A memory as it is read. The content is the reader's own. */
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
  /** Ids of events that are known to be covered. */
  readonly eventIds: readonly string[];
}

/** In how many of a user's memories words are. */
export interface WordCounts {
  /** Number of memories that the user has. */
  readonly memories: number;
  /** Words that no memory has may be left out. */
  readonly counts: ReadonlyMap<string, number>;
}

/** Parameters of a search in a driver. */
export interface MemorySearch {
  /** Words with a positive integer each: a memory's rank is the sum of those it has. */
  readonly weights: ReadonlyMap<string, number>;
  readonly limit: number;
  /** Leaves out what was said in this session. */
  readonly exceptSessionId: string | undefined;
}

/**
 * Storage for memories: all that a back end has to write. `DriverMemoryService` in front of it decides what is remembered, what a
 * word is and what it weighs. What reaches a driver is well-formed.
 */
export interface MemoryDriver {
  /** Of these event ids of a session those that are remembered. Spares the work of adding them again. */
  rememberedEvents(key: SessionKey, eventIds: readonly string[]): MaybePromise<ReadonlySet<string>>;

  /** Stores memories of a session, all or none. Left out are those whose event is remembered, or was deleted by `delete`. */
  add(key: SessionKey, memories: readonly NewMemory[]): MaybePromise<void>;

  /**
   * Removes memories of a session: those with these ids, and for each rewind those of a time from that of its invocation's
   * earliest memory up to the rewind's own; of one time with the earliest, those that were added after it. The events may be added again.
   */
  retreat(key: SessionKey, retreat: MemoryRetreat): MaybePromise<void>;

  countWords(owner: MemoryOwner, words: readonly string[]): MaybePromise<WordCounts>;

  /** The memories with one of the words, highest rank first; of one rank the later timestamp, then the later added. */
  search(owner: MemoryOwner, search: MemorySearch): MaybePromise<StoredMemory[]>;

  /** Removes a memory and keeps in mind that its event is not to be remembered. Absent: a no-op. */
  delete(key: SessionKey, eventId: string): MaybePromise<void>;

  /** Removes all of a user, or of one session, also what `delete` keeps in mind. Absent: a no-op. */
  deleteAll(owner: MemoryOwner, sessionId: string | undefined): MaybePromise<void>;
}
