import { ConfigurationError } from '@eventloom/core';
import type { DurableObjectSqlStorage } from './durable-object-connection.ts';

/** A change of an app's state in the form in which objects exchange it: a key with its value as JSON, null if the key was removed. */
export interface AppStateChange {
  readonly key: string;
  readonly value: string | null;
}

/** A change that was made in this object and is not delivered yet. Later changes have a higher `seq`; numbers may be missing. */
export interface PendingAppState extends AppStateChange {
  readonly seq: number;
  /** Time of the change in milliseconds since the epoch. */
  readonly writtenMs: number;
}

/** An app with pending changes. */
export interface PendingApp {
  readonly appName: string;
  /** Time of the oldest change in milliseconds since the epoch. */
  readonly sinceMs: number;
}

const VERSION = 1;
/** Maximum number of changes that are returned at once. */
const MAX_CHANGES = 500;
const NOW_MS = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/**
 * The triggers add every write of app state to the outbox, in the same transaction. A newer write of a key replaces a pending one, so the
 * outbox never has more rows than there are keys.
 */
const TABLES = `
  CREATE TABLE eventloom_app_outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT,
    written_ms INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX eventloom_app_outbox_keys ON eventloom_app_outbox (app_name, key);
  CREATE TABLE eventloom_app_versions (
    app_name TEXT PRIMARY KEY,
    version INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER eventloom_app_state_set AFTER INSERT ON eventloom_app_state BEGIN
    DELETE FROM eventloom_app_outbox WHERE app_name = NEW.app_name AND key = NEW.key;
    INSERT INTO eventloom_app_outbox (app_name, key, value, written_ms)
      VALUES (NEW.app_name, NEW.key, NEW.value, ${NOW_MS});
  END;
  CREATE TRIGGER eventloom_app_state_removed AFTER DELETE ON eventloom_app_state BEGIN
    DELETE FROM eventloom_app_outbox WHERE app_name = OLD.app_name AND key = OLD.key;
    INSERT INTO eventloom_app_outbox (app_name, key, value, written_ms)
      VALUES (OLD.app_name, OLD.key, NULL, ${NOW_MS});
  END;
  INSERT INTO eventloom_meta VALUES ('app-replica.schema', ${VERSION});
`;

/**
 * One object's replica of the app state that all objects share. A change that is written in this object is added to an outbox in the
 * transaction of its event; changes of other objects are applied with `apply`. Create the replica after the `DurableObjectSessionService`
 * of the same storage, because its triggers are on the tables of that service. It does not send changes itself.
 */
export class DurableObjectAppState {
  readonly #storage: DurableObjectSqlStorage;

  /** @throws ConfigurationError if a newer version created the tables */
  constructor(storage: DurableObjectSqlStorage) {
    this.#storage = storage;
    const [row] = this.#all("SELECT value FROM eventloom_meta WHERE key = 'app-replica.schema'");
    const version = Number(row?.['value'] ?? 0);
    if (version > VERSION) {
      throw new ConfigurationError(
        `the tables of the app state have version ${version}, and this program supports versions up to ${VERSION}; update @eventloom/sessions`,
      );
    }
    if (version === 0) storage.transactionSync(() => this.#all(TABLES));
  }

  /** Lists the apps with pending changes. */
  pendingApps(): PendingApp[] {
    const rows = this.#all('SELECT app_name, min(written_ms) AS since FROM eventloom_app_outbox GROUP BY app_name');
    return rows.map((row) => ({ appName: String(row['app_name']), sinceMs: Number(row['since']) }));
  }

  /** Lists the oldest pending changes in their order: at most 500, up to the change that reaches `maxChars` characters. */
  pending(appName: string, maxChars: number): PendingAppState[] {
    const changes: PendingAppState[] = [];
    for (let chars = 0; chars < maxChars && changes.length < MAX_CHANGES;) {
      // Reads one row at a time, because a value has up to 2 MB, and an object has 128 MB of memory.
      const [row] = this.#all(
        `SELECT seq, key, value, written_ms FROM eventloom_app_outbox
         WHERE app_name = ?1 AND seq > CAST(?2 AS INTEGER) ORDER BY seq LIMIT 1`,
        appName,
        changes.at(-1)?.seq ?? 0,
      );
      if (!row) break;
      const key = String(row['key']);
      const value = typeof row['value'] === 'string' ? row['value'] : null;
      changes.push({ seq: Number(row['seq']), key, value, writtenMs: Number(row['written_ms']) });
      chars += key.length + (value?.length ?? 0);
    }
    return changes;
  }

  /** Records that all changes up to this number were delivered. */
  settle(appName: string, seq: number): void {
    this.#all('DELETE FROM eventloom_app_outbox WHERE app_name = ?1 AND seq <= CAST(?2 AS INTEGER)', appName, seq);
  }

  /** Returns the version of the shared state up to which changes were applied; 0 at first. */
  version(appName: string): number {
    const [row] = this.#all('SELECT version FROM eventloom_app_versions WHERE app_name = ?1', appName);
    return Number(row?.['version'] ?? 0);
  }

  /** Applies changes of other objects, up to a version of the shared state. Keys with a pending change are not overwritten. */
  apply(appName: string, version: number, changes: readonly AppStateChange[]): void {
    this.#storage.transactionSync(() => {
      for (const { key, value } of changes) {
        const isWaiting = this.#all(
          'SELECT 1 FROM eventloom_app_outbox WHERE app_name = ?1 AND key = ?2',
          appName,
          key,
        );
        if (isWaiting.length > 0) continue;
        if (value === null) this.#all('DELETE FROM eventloom_app_state WHERE app_name = ?1 AND key = ?2', appName, key);
        else this.#all('INSERT OR REPLACE INTO eventloom_app_state VALUES (?1, ?2, ?3)', appName, key, value);
        // The triggers added the row as a write of this object.
        this.#all('DELETE FROM eventloom_app_outbox WHERE app_name = ?1 AND key = ?2', appName, key);
      }
      this.#all('INSERT OR REPLACE INTO eventloom_app_versions VALUES (?1, CAST(?2 AS INTEGER))', appName, version);
    });
  }

  #all(query: string, ...bindings: (number | string)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray();
  }
}
