import { type CredentialKey, type Platform, systemPlatform } from '@eventloom/core';
import { type OptionRules, checkOptions } from '@eventloom/core/internal';
import { LockLine, type OpenSqlite, openSqlite } from '@eventloom/core/internal/node';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checkEncryptionKeys, KEYS_RULE } from '../credential-cipher.ts';
import type { CredentialStore, SealedCredential } from '../credential-store.ts';
import { EncryptedCredentialService, type EncryptionOptions } from '../encrypted-credential-service.ts';
import { migrateCredentials } from './schema.ts';

/** Options of `SqliteCredentialService`. Give exactly one of `path` and `database`. */
export interface SqliteCredentialServiceOptions extends EncryptionOptions {
  /** Path of the database file. The file and its folder are created if they do not exist. `:memory:` keeps everything in memory. */
  readonly path?: string;
  /**
   * An open database, which may hold other tables, for example those of sessions. The table of this package is `eventloom_credentials`. The
   * database is switched to WAL, its `busy_timeout` is set to 0, and it must not be inside a transaction when the service is called.
   */
  readonly database?: DatabaseSync;
  /** Clock and timers for retries while the file is locked. Default: those of the system. */
  readonly platform?: Platform;
}

const OPTIONS: OptionRules<SqliteCredentialServiceOptions> = {
  path: 'text',
  database: 'object',
  keys: KEYS_RULE,
  platform: 'object',
};
const HINTS = {
  file: 'did you mean "path"?',
  filename: 'did you mean "path"?',
  secret: 'write keys: [key], made by createEncryptionKey()',
};

/**
 * Keeps credentials in a SQLite file, through Node's `node:sqlite`, encrypted as `EncryptedCredentialService` does. Several processes on
 * one machine may use one file with the same keys. An acknowledged write survives a crash of the machine. In a file that the service
 * opened, replaced and deleted values are overwritten. A call that finds the file locked by another process is retried without blocking
 * other work, and fails with a StorageError if the file stays locked for five seconds; at once if the disk is full.
 */
export class SqliteCredentialService extends EncryptedCredentialService {
  readonly #opened: OpenSqlite<SqliteCredentialStore>;

  /**
   * Opens the file, or prepares the database.
   * @throws ConfigurationError if the file is not a database, cannot be opened, or was written by a newer version, for invalid keys, and
   * for an unknown option
   */
  constructor(options: SqliteCredentialServiceOptions) {
    checkOptions('SqliteCredentialService', OPTIONS, options, HINTS);
    const { path, database, keys, platform = systemPlatform } = options;
    checkEncryptionKeys(keys);
    const opened = openSqlite(
      { path, database },
      {
        service: 'SqliteCredentialService',
        purpose: 'a database of credentials',
        example: 'credentials.db',
        synchronous: 'FULL',
        pragmas: 'PRAGMA secure_delete = ON',
        prepare: (connection) => {
          migrateCredentials(connection);
          return new SqliteCredentialStore(connection, platform);
        },
      },
    );
    super({ keys, store: opened.driver });
    this.#opened = opened;
  }

  /**
   * Closes the file, unless the database was given as an option. Optional: no data is lost without it. Do not call the service afterwards.
   */
  close(): void {
    this.#opened.close();
  }
}

const OWNED = 'app_name = ? AND user_id = ? AND credential_key = ?';

/** Sealed credentials in a SQLite database, one in each row. */
class SqliteCredentialStore implements CredentialStore {
  readonly #line: LockLine;
  readonly #load: StatementSync;
  readonly #save: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync, platform: Platform) {
    this.#line = new LockLine('the credential database', platform);
    this.#load = database.prepare(`SELECT key_id, sealed FROM eventloom_credentials WHERE ${OWNED}`);
    this.#save = database.prepare(
      `INSERT OR REPLACE INTO eventloom_credentials (app_name, user_id, credential_key, key_id, sealed)
       VALUES (?, ?, ?, ?, ?)`,
    );
    this.#delete = database.prepare(`DELETE FROM eventloom_credentials WHERE ${OWNED}`);
  }

  async load({ appName, userId, credentialKey }: CredentialKey): Promise<SealedCredential | undefined> {
    const row = await this.#line.read(() => this.#load.get(appName, userId, credentialKey));
    if (!row) return undefined;
    const { key_id: keyId, sealed } = row;
    return { keyId: String(keyId), sealed: sealed instanceof Uint8Array ? sealed : new Uint8Array() };
  }

  async save({ appName, userId, credentialKey }: CredentialKey, { keyId, sealed }: SealedCredential): Promise<void> {
    await this.#line.write(() => this.#save.run(appName, userId, credentialKey, keyId, sealed));
  }

  async delete({ appName, userId, credentialKey }: CredentialKey): Promise<void> {
    await this.#line.write(() => this.#delete.run(appName, userId, credentialKey));
  }
}
