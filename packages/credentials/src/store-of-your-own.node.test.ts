import { type CredentialKey, StorageError } from '@eventloom/core';
import type { CredentialStore } from '@eventloom/credentials';
import { useTestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { credentialServiceConformance } from './conformance/index.ts';
import { EncryptedCredentialService } from './encrypted-credential-service.ts';
import { createEncryptionKey } from './credential-cipher.ts';

const { pool } = useTestDatabase();
beforeAll(async () => {
  await pool.query(CREDENTIALS);
});
/** The documentation quotes this. */
const CREDENTIALS = `
  CREATE TABLE IF NOT EXISTS credentials (
    owner text COLLATE "C" PRIMARY KEY,
    key_id text NOT NULL,
    sealed bytea NOT NULL
  )
`;

function postgresStore(pool: Pool): CredentialStore {
  return {
    async load(key) {
      const text = 'SELECT key_id AS "keyId", sealed FROM credentials WHERE owner = $1';
      return (await pool.query(text, [ownerOf(key)])).rows[0];
    },
    async save(key, { keyId, sealed }) {
      const text = `
        INSERT INTO credentials (owner, key_id, sealed) VALUES ($1, $2, $3)
        ON CONFLICT (owner) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed`;
      await pool.query(text, [ownerOf(key), keyId, sealed]);
    },
    async delete(key) {
      await pool.query('DELETE FROM credentials WHERE owner = $1', [ownerOf(key)]);
    },
  };
}

function ownerOf({ appName, userId, credentialKey }: CredentialKey): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

describe('a custom store on PostgreSQL keeps the contract', () => {
  const cases = credentialServiceConformance(async () => {
    const keys = [createEncryptionKey()];
    const another = () => new EncryptedCredentialService({ store: postgresStore(pool), keys });
    await pool.query('DELETE FROM credentials');
    return { service: another(), another };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('an error of the store is the cause of a StorageError', async () => {
  const nobody = new Pool({ connectionString: 'postgresql://nobody@127.0.0.1:1/none' });
  const service = new EncryptedCredentialService({ store: postgresStore(nobody), keys: [createEncryptionKey()] });
  const key = { appName: 'app', userId: 'user', credentialKey: 'key' };
  for (const call of [
    () => service.loadCredential(key),
    () => service.saveCredential({ ...key, credential: { authType: 'apiKey' } }),
    () => service.deleteCredential(key),
  ]) {
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    expect(StorageError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  }
  await nobody.end();
});
