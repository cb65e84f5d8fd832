import type { CredentialKey, Platform } from '@eventloom/core';
import { LockLine } from '@eventloom/core/internal';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CredentialStore, SealedCredential } from '../credential-store.ts';

const OWNED = 'app_name = ? AND user_id = ? AND credential_key = ?';

/** Sealed credentials in a SQLite database, a row each. */
export class SqliteCredentialStore implements CredentialStore {
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
