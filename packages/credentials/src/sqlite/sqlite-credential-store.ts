import type { CredentialKey } from '@eventloom/core';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CredentialStore, SealedCredential } from '../credential-store.ts';

const OWNED = 'app_name = ? AND user_id = ? AND credential_key = ?';

/** Sealed credentials in a SQLite database, a row each. */
export class SqliteCredentialStore implements CredentialStore {
  readonly #load: StatementSync;
  readonly #save: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync) {
    this.#load = database.prepare(`SELECT key_id, sealed FROM eventloom_credentials WHERE ${OWNED}`);
    this.#save = database.prepare(
      `INSERT OR REPLACE INTO eventloom_credentials (app_name, user_id, credential_key, key_id, sealed)
       VALUES (?, ?, ?, ?, ?)`,
    );
    this.#delete = database.prepare(`DELETE FROM eventloom_credentials WHERE ${OWNED}`);
  }

  async load({ appName, userId, credentialKey }: CredentialKey): Promise<SealedCredential | undefined> {
    const row = this.#load.get(appName, userId, credentialKey);
    if (!row) return undefined;
    const { key_id: keyId, sealed } = row;
    return { keyId: String(keyId), sealed: sealed instanceof Uint8Array ? sealed : new Uint8Array() };
  }

  async save({ appName, userId, credentialKey }: CredentialKey, { keyId, sealed }: SealedCredential): Promise<void> {
    this.#save.run(appName, userId, credentialKey, keyId, sealed);
  }

  async delete({ appName, userId, credentialKey }: CredentialKey): Promise<void> {
    this.#delete.run(appName, userId, credentialKey);
  }
}
