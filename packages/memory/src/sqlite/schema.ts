import { ConfigurationError } from '@eventloom/core';
import type { DatabaseSync } from 'node:sqlite';

/**
 * `eventloom_memory_words` is the index: under each word of a user the memories that have it. `eventloom_memories_deleted` holds
 * the ids of events that are not to be remembered, and nothing of what they said. Keys of memories are never used again, so that
 * they tell the order of adding. Times are seconds since the epoch.
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

/** Each step brings a database from version `index` to `index + 1`. A step that was released is never edited. */
const MIGRATIONS: readonly string[] = [FIRST];

/**
 * Brings the memory tables to the version of this program, once, in one transaction. Other tables are left alone.
 * @throws ConfigurationError when a newer program made them
 */
export function migrateMemories(database: DatabaseSync): void {
  if (versionOf(database) === MIGRATIONS.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Read again under the lock: another process may have done it meanwhile.
    const version = versionOf(database);
    if (version > MIGRATIONS.length) {
      throw new ConfigurationError(
        `the memory tables have version ${version}, this program knows versions up to ${MIGRATIONS.length}; update @eventloom/memory`,
      );
    }
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    database.exec(`INSERT OR REPLACE INTO eventloom_meta VALUES ('memory.schema', ${MIGRATIONS.length})`);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'eventloom_meta'").get();
  const row = table && database.prepare("SELECT value FROM eventloom_meta WHERE key = 'memory.schema'").get();
  return Number(row?.['value'] ?? 0);
}
