import type { SessionKey } from '@eventloom/core';
import type {
  MemoryDriver,
  MemoryOwner,
  MemoryRetreat,
  MemorySearch,
  NewMemory,
  StoredMemory,
  WordCounts,
} from './memory-driver.ts';

/** A memory and its place in the order of adding. */
interface KeptMemory {
  readonly sessionId: string;
  readonly order: number;
  readonly memory: NewMemory;
}

/** The memories of one session. */
interface SessionMemories {
  readonly memories: Map<string, KeptMemory>;
  /** Ids of events that must not be remembered. */
  readonly deleted: Set<string>;
}

/** The memories of one user, by session and by word. */
interface UserMemories {
  readonly sessions: Map<string, SessionMemories>;
  readonly words: Map<string, Set<KeptMemory>>;
  size: number;
}

/** Memories in maps, with an index of their words. */
export class InMemoryMemoryDriver implements MemoryDriver {
  readonly #users = new Map<string, UserMemories>();
  #order = 0;

  rememberedEvents(key: SessionKey, eventIds: readonly string[]): Set<string> {
    const session = this.#users.get(nameOf(key))?.sessions.get(key.sessionId);
    return new Set(eventIds.filter((id) => session?.memories.has(id)));
  }

  add(key: SessionKey, memories: readonly NewMemory[]): void {
    const user = this.#user(key);
    const session = sessionOf(user, key.sessionId);
    for (const memory of memories) {
      if (session.memories.has(memory.eventId) || session.deleted.has(memory.eventId)) continue;
      const kept = { sessionId: key.sessionId, order: this.#order++, memory };
      session.memories.set(memory.eventId, kept);
      user.size++;
      for (const word of memory.words) {
        let found = user.words.get(word);
        if (!found) user.words.set(word, (found = new Set()));
        found.add(kept);
      }
    }
  }

  retreat(key: SessionKey, { rewinds, eventIds }: MemoryRetreat): void {
    const user = this.#users.get(nameOf(key));
    const session = user?.sessions.get(key.sessionId);
    if (!user || !session) return;
    for (const id of eventIds) remove(user, session, session.memories.get(id));
    for (const { invocationId, timestamp } of rewinds) {
      const byTime = [...session.memories.values()].sort(laterLast);
      const first = byTime.findIndex(({ memory }) => memory.invocationId === invocationId);
      if (first < 0) continue;
      for (const kept of byTime.slice(first)) if (kept.memory.timestamp <= timestamp) remove(user, session, kept);
    }
  }

  countWords(owner: MemoryOwner, words: readonly string[]): WordCounts {
    const user = this.#users.get(nameOf(owner));
    return {
      memories: user?.size ?? 0,
      counts: new Map(words.map((word) => [word, user?.words.get(word)?.size ?? 0])),
    };
  }

  search(owner: MemoryOwner, { weights, limit, exceptSessionId }: MemorySearch): StoredMemory[] {
    const user = this.#users.get(nameOf(owner));
    const ranks = new Map<KeptMemory, number>();
    for (const [word, weight] of weights) {
      for (const kept of user?.words.get(word) ?? []) {
        if (kept.sessionId !== exceptSessionId) ranks.set(kept, (ranks.get(kept) ?? 0) + weight);
      }
    }
    return [...ranks]
      .sort(([one, rank], [other, otherRank]) => otherRank - rank || laterLast(other, one))
      .slice(0, limit)
      .map(([{ sessionId, memory }]) => {
        const { eventId, timestamp, author, content } = memory;
        return { sessionId, eventId, timestamp, author, content: structuredClone(content) };
      });
  }

  delete(key: SessionKey, eventId: string): void {
    const user = this.#users.get(nameOf(key));
    const session = user?.sessions.get(key.sessionId);
    const kept = session?.memories.get(eventId);
    if (!user || !session || !kept) return;
    remove(user, session, kept);
    session.deleted.add(eventId);
  }

  deleteAll(owner: MemoryOwner, sessionId: string | undefined): void {
    const name = nameOf(owner);
    if (sessionId === undefined) {
      this.#users.delete(name);
      return;
    }
    const user = this.#users.get(name);
    const session = user?.sessions.get(sessionId);
    if (!user || !session) return;
    for (const kept of session.memories.values()) remove(user, session, kept);
    user.sessions.delete(sessionId);
  }

  #user(owner: MemoryOwner): UserMemories {
    const name = nameOf(owner);
    let user = this.#users.get(name);
    if (!user) this.#users.set(name, (user = { sessions: new Map(), words: new Map(), size: 0 }));
    return user;
  }
}

function nameOf({ appName, userId }: MemoryOwner): string {
  return JSON.stringify([appName, userId]);
}

function sessionOf(user: UserMemories, sessionId: string): SessionMemories {
  let session = user.sessions.get(sessionId);
  if (!session) user.sessions.set(sessionId, (session = { memories: new Map(), deleted: new Set() }));
  return session;
}

function laterLast(one: KeptMemory, other: KeptMemory): number {
  return one.memory.timestamp - other.memory.timestamp || one.order - other.order;
}

function remove(user: UserMemories, session: SessionMemories, kept: KeptMemory | undefined): void {
  if (!kept || !session.memories.delete(kept.memory.eventId)) return;
  user.size--;
  for (const word of kept.memory.words) {
    const found = user.words.get(word);
    found?.delete(kept);
    if (found?.size === 0) user.words.delete(word);
  }
}
