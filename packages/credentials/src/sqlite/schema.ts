import { ConfigurationError } from '@eventloom/core';
import type { DatabaseSync } from 'node:sqlite';

/** Names are compared byte by byte. `sealed` is the output of the cipher with the key that `key_id` identifies. */
const FIRST = `
  CREATE TABLE IF NOT EXISTS eventloom_meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE eventloom_credentials (
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    credential_key TEXT NOT NULL,
    key_id TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (app_name, user_id, credential_key)
  ) STRICT, WITHOUT ROWID;
`;

/** Each step brings a database from version `index` to `index + 1`. A step that was released is never edited. */
const MIGRATIONS: readonly string[] = [FIRST];

/**
 * Migrates the table of credentials to the version of this program, once, in one transaction. Other tables are not touched.
 * @throws ConfigurationError when a newer program made it
 */
export function migrateCredentials(database: DatabaseSync): void {
  if (versionOf(database) === MIGRATIONS.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Read again under the lock: another process may have migrated in the meantime.
    const version = versionOf(database);
    if (version > MIGRATIONS.length) {
      throw new ConfigurationError(
        `the table of credentials has version ${version}, and this program supports versions up to ${MIGRATIONS.length}; update @eventloom/credentials`,
      );
    }
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    database
      .prepare("INSERT OR REPLACE INTO eventloom_meta (key, value) VALUES ('credentials.schema', ?)")
      .run(MIGRATIONS.length);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: DatabaseSync): number {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'eventloom_meta'").get();
  const row = table && database.prepare("SELECT value FROM eventloom_meta WHERE key = 'credentials.schema'").get();
  return Number(row?.['value'] ?? 0);
}
