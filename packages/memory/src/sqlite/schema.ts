import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, type Content } from '@eventloom/core';
import { SqliteTransactions, storedVersion } from '@eventloom/core/internal/node';
import { MEMORY_WORDS_VERSION, memoryWords } from '../words.ts';

/**
 * `eventloom_memory_words` is the index: the memories that have each word of a user. `eventloom_memories_deleted` has the ids of events
 * that must not be added again, without their content. Keys of memories are never reused, so they record the order of additions. Times are
 * seconds since the epoch.
 */
const FIRST = `
  CREATE TABLE IF NOT EXISTS eventloom_meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE eventloom_memory_users (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    UNIQUE (app_name, user_id)
  ) STRICT;

  CREATE TABLE eventloom_memories (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    user INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    timestamp REAL NOT NULL,
    author TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (user, session_id, event_id)
  ) STRICT;

  CREATE TABLE eventloom_memories_deleted (
    user INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (user, session_id, event_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE eventloom_memory_words (
    user INTEGER NOT NULL,
    word TEXT NOT NULL,
    memory INTEGER NOT NULL,
    PRIMARY KEY (user, word, memory)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX eventloom_memory_words_of ON eventloom_memory_words (memory);

  CREATE TRIGGER eventloom_memory_words_go AFTER DELETE ON eventloom_memories BEGIN
    DELETE FROM eventloom_memory_words WHERE memory = OLD.pk;
  END;
`;

/** Each step migrates a database from version `index` to `index + 1`. A released step is never edited. */
const MIGRATIONS: readonly string[] = [FIRST];

/** The versions in `eventloom_meta` that this program supports. */
const VERSIONS = { 'memory.schema': MIGRATIONS.length, 'memory.words': MEMORY_WORDS_VERSION };
type VersionKey = keyof typeof VERSIONS;

/**
 * Migrates the memory tables and the word index to the version of this program, once, in one transaction. The index is rebuilt, memory by
 * memory, if the splitting into words has changed. Other tables stay unchanged.
 * @throws ConfigurationError when a newer program wrote them
 */
export function migrateMemories(database: DatabaseSync): void {
  const keys = Object.keys(VERSIONS) as VersionKey[];
  if (keys.every((key) => storedVersion(database, key) === VERSIONS[key])) return;
  new SqliteTransactions(database).write(() => {
    for (const key of keys) {
      const version = storedVersion(database, key);
      if (version <= VERSIONS[key]) continue;
      throw new ConfigurationError(
        `${key} has version ${version}, and this program supports versions up to ${VERSIONS[key]}; update @eventloom/memory`,
      );
    }
    // Read again under the lock: another process may have migrated in the meantime.
    for (const step of MIGRATIONS.slice(storedVersion(database, 'memory.schema'))) database.exec(step);
    if (storedVersion(database, 'memory.words') < MEMORY_WORDS_VERSION) indexAllWords(database);
    const write = database.prepare('INSERT OR REPLACE INTO eventloom_meta VALUES (?1, ?2)');
    for (const key of keys) write.run(key, VERSIONS[key]);
  });
}

/** Rebuilds the word index of all memories. Must be called inside a transaction. */
function indexAllWords(database: DatabaseSync): void {
  database.exec('DELETE FROM eventloom_memory_words');
  const insert = database.prepare('INSERT INTO eventloom_memory_words (user, word, memory) VALUES (?1, ?2, ?3)');
  for (const row of database.prepare('SELECT pk, user, content FROM eventloom_memories').iterate()) {
    const content = JSON.parse(String(row['content'])) as Content;
    for (const word of memoryWords(content)) insert.run(Number(row['user']), word, Number(row['pk']));
  }
}
