import { ConfigurationError, type DurableObjectStorage } from '@eventloom/core';

/**
 * `session_id` is empty for an artifact of the user. `next` is the number of the next version, and is kept when the versions are
 * deleted. A version is stored in pieces that fit into a row: `kind` 0 for its record as JSON, `kind` 1 for its bytes, absent for a part
 * without data. Records are stored together, so that listing them reads no bytes.
 */
const FIRST = `
  CREATE TABLE IF NOT EXISTS eventloom_meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE eventloom_artifacts (
    pk INTEGER PRIMARY KEY,
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    name TEXT NOT NULL,
    next INTEGER NOT NULL,
    UNIQUE (app_name, user_id, session_id, name)
  ) STRICT;

  CREATE TABLE eventloom_artifact_pieces (
    artifact INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (artifact, kind, version, ordinal)
  ) STRICT, WITHOUT ROWID;
`;

/** Each step brings a database from version `index` to `index + 1`. A step that was released is never edited. */
const MIGRATIONS: readonly string[] = [FIRST];

/**
 * Migrates the artifact tables to the version of this program, once, in one transaction. Other tables are not touched.
 * @throws ConfigurationError if a newer program made the tables
 */
export function migrateArtifacts(storage: DurableObjectStorage): void {
  const version = versionOf(storage);
  if (version === MIGRATIONS.length) return;
  if (version > MIGRATIONS.length) {
    throw new ConfigurationError(
      `the artifact tables have version ${version}, and this program supports versions up to ${MIGRATIONS.length}; update @eventloom/artifacts`,
    );
  }
  storage.transactionSync(() => {
    for (const step of MIGRATIONS.slice(version)) storage.sql.exec(step);
    storage.sql.exec("INSERT OR REPLACE INTO eventloom_meta VALUES ('artifacts.schema', ?1)", MIGRATIONS.length);
  });
}

function versionOf({ sql }: DurableObjectStorage): number {
  const [table] = sql.exec("SELECT 1 FROM sqlite_schema WHERE name = 'eventloom_meta'").toArray();
  const [row] = table ? sql.exec("SELECT value FROM eventloom_meta WHERE key = 'artifacts.schema'").toArray() : [];
  return Number(row?.['value'] ?? 0);
}
