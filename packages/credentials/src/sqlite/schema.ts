import { ConfigurationError } from '@eventloom/core';
import { SqliteTransactions, storedVersion } from '@eventloom/core/internal/node';
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

const VERSION_KEY = 'credentials.schema';

/**
 * Migrates the table of credentials to the version of this program, once, in one transaction. Other tables are not touched.
 * @throws ConfigurationError when a newer program made it
 */
export function migrateCredentials(database: DatabaseSync): void {
  if (storedVersion(database, VERSION_KEY) === MIGRATIONS.length) return;
  new SqliteTransactions(database).write(() => {
    // Read again under the lock: another process may have migrated in the meantime.
    const version = storedVersion(database, VERSION_KEY);
    if (version > MIGRATIONS.length)
      throw new ConfigurationError(
        `the table of credentials has version ${version}, and this program supports versions up to ${MIGRATIONS.length}; update @eventloom/credentials`,
      );
    for (const step of MIGRATIONS.slice(version)) database.exec(step);
    database
      .prepare('INSERT OR REPLACE INTO eventloom_meta (key, value) VALUES (?1, ?2)')
      .run(VERSION_KEY, MIGRATIONS.length);
  });
}
