import type { DatabaseSync } from 'node:sqlite';
import type { Content, Platform, SessionKey, MaybePromise } from '@eventloom/core';
import { LockLine, SqliteTransactions } from '@eventloom/core/internal/node';
import type {
  MemoryDriver,
  MemoryOwner,
  MemoryRetreat,
  MemorySearch,
  NewMemory,
  StoredMemory,
  WordCounts,
} from '../memory-driver.ts';
import { prepareStatements, type MemoryStatements } from './statements.ts';

/** Memories in a SQLite database. Every method is one transaction. */
export class SqliteMemoryDriver implements MemoryDriver {
  readonly #sql: MemoryStatements;
  readonly #transactions: SqliteTransactions;
  /** Repeats a transaction while another process locks the file. */
  readonly #line: LockLine;

  constructor(database: DatabaseSync, platform: Platform) {
    this.#sql = prepareStatements(database);
    this.#transactions = new SqliteTransactions(database);
    this.#line = new LockLine('the memory database', platform);
  }

  rememberedEvents(key: SessionKey, eventIds: readonly string[]): MaybePromise<Set<string>> {
    return this.#inRead(() => {
      const user = this.#findUser(key);
      if (user === undefined) return new Set();
      return new Set(eventIds.filter((id) => this.#sql.isRemembered.get(user, key.sessionId, id) !== undefined));
    });
  }

  add(key: SessionKey, memories: readonly NewMemory[]): MaybePromise<void> {
    return this.#inWrite(() => {
      const user = this.#findUser(key) ?? Number(this.#sql.insertUser.get(key.appName, key.userId)?.['pk']);
      for (const { eventId, invocationId, timestamp, author, content, words } of memories) {
        const said = [invocationId, timestamp, author, JSON.stringify(content)] as const;
        const row = this.#sql.insertMemory.get(user, key.sessionId, eventId, ...said);
        if (!row) continue;
        const pk = Number(row['pk']);
        for (const word of words) this.#sql.insertWord.run(user, word, pk);
      }
    });
  }

  retreat(key: SessionKey, { rewinds, eventIds }: MemoryRetreat): MaybePromise<void> {
    return this.#inWrite(() => {
      const user = this.#findUser(key);
      if (user === undefined) return;
      for (const id of eventIds) this.#sql.deleteMemory.run(user, key.sessionId, id);
      for (const { invocationId, timestamp } of rewinds) {
        this.#sql.deleteRewound.run(user, key.sessionId, invocationId, timestamp);
      }
    });
  }

  countWords(owner: MemoryOwner, words: readonly string[]): MaybePromise<WordCounts> {
    return this.#inRead(() => {
      const user = this.#findUser(owner);
      if (user === undefined) return { memories: 0, counts: new Map() };
      const counts = words.map((word) => [word, Number(this.#sql.countWord.get(user, word)?.['memories'])] as const);
      return { memories: Number(this.#sql.countMemories.get(user)?.['memories']), counts: new Map(counts) };
    });
  }

  search(owner: MemoryOwner, { weights, limit, exceptSessionId }: MemorySearch): MaybePromise<StoredMemory[]> {
    return this.#inRead(() => {
      const user = this.#findUser(owner);
      if (user === undefined) return [];
      const found = this.#sql.search.all(user, JSON.stringify([...weights]), exceptSessionId ?? null, limit);
      return found.map(({ pk }) => this.#read(Number(pk)));
    });
  }

  delete(key: SessionKey, eventId: string): MaybePromise<void> {
    return this.#inWrite(() => {
      const user = this.#findUser(key);
      if (user === undefined) return;
      const { changes } = this.#sql.deleteMemory.run(user, key.sessionId, eventId);
      if (changes > 0) this.#sql.markDeleted.run(user, key.sessionId, eventId);
    });
  }

  deleteAll(owner: MemoryOwner, sessionId: string | undefined): MaybePromise<void> {
    return this.#inWrite(() => {
      const user = this.#findUser(owner);
      if (user === undefined) return;
      if (sessionId === undefined) {
        this.#sql.deleteOfUser.run(user);
        this.#sql.forgetDeletedOfUser.run(user);
        this.#sql.deleteUser.run(user);
      } else {
        this.#sql.deleteSession.run(user, sessionId);
        this.#sql.forgetDeletedOfSession.run(user, sessionId);
      }
    });
  }

  #inRead<T>(work: () => T): MaybePromise<T> {
    return this.#line.read(() => this.#transactions.read(work));
  }

  #inWrite<T>(work: () => T): MaybePromise<T> {
    return this.#line.write(() => this.#transactions.write(work));
  }

  #findUser({ appName, userId }: MemoryOwner): number | undefined {
    const row = this.#sql.user.get(appName, userId);
    return row && Number(row['pk']);
  }

  #read(pk: number): StoredMemory {
    const row = this.#sql.memory.get(pk) ?? {};
    return {
      sessionId: String(row['session_id']),
      eventId: String(row['event_id']),
      timestamp: Number(row['timestamp']),
      author: String(row['author']),
      content: JSON.parse(String(row['content'])) as Content,
    };
  }
}
