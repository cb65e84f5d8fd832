import { type AuthCredential, ConfigurationError, encodeBase64, StorageError } from '@eventloom/core';
import { ManualPlatform } from '@eventloom/core/conformance';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createEncryptionKey } from '../credential-cipher.ts';
import { SealedCredentialError } from '../errors.ts';
import { SqliteCredentialService } from './sqlite-credential-service.ts';

const KEY = { appName: 'app', userId: 'ann', credentialKey: 'calendar' };
const keys = [createEncryptionKey()];
let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  path = join(folder, 'credentials.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function apiKey(secret: string): AuthCredential {
  return { authType: 'apiKey', apiKey: secret };
}

/** Saves credentials in a separate process, which is killed as soon as it reports that they are saved. */
async function saveAndDie(userId: string, count: number): Promise<void> {
  const program = join(import.meta.dirname, 'fixtures/saving-process.ts');
  const args = [program, path, encodeBase64(keys[0] ?? new Uint8Array()), userId, `${count}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const saved = once(child.stdout, 'data').then(() => 'saved');
  expect(await Promise.race([saved, ended])).toBe('saved');
  child.kill('SIGKILL');
  await ended;
}

test('credentials saved by killed processes persist, even if they created the file concurrently', async () => {
  await Promise.all([saveAndDie('ann', 20), saveAndDie('bob', 20)]);
  const service = new SqliteCredentialService({ path, keys });
  for (const userId of ['ann', 'bob']) {
    for (let number = 0; number < 20; number++) {
      const found = await service.loadCredential({ ...KEY, userId, credentialKey: `${number}` });
      expect(found).toEqual(apiKey(`${userId} ${number}`));
    }
  }
  service.close();
});

test('no file contains a secret, nor ciphertext of replaced or deleted ones', async () => {
  const service = new SqliteCredentialService({ path, keys });
  const database = new DatabaseSync(path, { readOnly: true });
  const sealed: Buffer[] = [];
  for (const secret of ['hunter2', 'hunter3']) {
    await service.saveCredential({ ...KEY, credential: apiKey(secret) });
    sealed.push(
      Buffer.from(database.prepare('SELECT sealed FROM eventloom_credentials').get()?.['sealed'] as Uint8Array),
    );
  }
  for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name)).includes('hunter')).toBe(false);
  await service.deleteCredential(KEY);
  database.close();
  service.close();
  for (const bytes of sealed) expect(readFileSync(path).includes(bytes)).toBe(false);
});

test('another key decrypts nothing, and a row copied to another user is refused', async () => {
  const service = new SqliteCredentialService({ path, keys });
  await service.saveCredential({ ...KEY, credential: apiKey('hunter2') });
  const stranger = new SqliteCredentialService({ path, keys: [createEncryptionKey()] });
  expect(await stranger.loadCredential(KEY)).toBeUndefined();
  const database = new DatabaseSync(path);
  database.exec("UPDATE eventloom_credentials SET user_id = 'bob'");
  database.close();
  await expect(service.loadCredential({ ...KEY, userId: 'bob' })).rejects.toThrow(SealedCredentialError);
  for (const opened of [service, stranger]) opened.close();
});

test('a locked file does not block other work, and is written once it is free', async () => {
  const platform = new ManualPlatform();
  const waits = vi.spyOn(platform, 'schedule');
  const service = new SqliteCredentialService({ path, keys, platform });
  const stranger = new DatabaseSync(path);
  stranger.exec('BEGIN IMMEDIATE');
  let isSaved = false;
  const saved = service.saveCredential({ ...KEY, credential: apiKey('hunter2') }).then(() => (isSaved = true));
  await expect.poll(() => waits.mock.calls.length).toBeGreaterThan(0);
  expect(await service.loadCredential(KEY)).toBeUndefined();
  expect(isSaved).toBe(false);
  stranger.exec('ROLLBACK');
  platform.advance(1000);
  await saved;
  expect(await service.loadCredential(KEY)).toEqual(apiKey('hunter2'));
  stranger.close();
  service.close();
});

test('a file that stays locked is a retryable error, and nothing is stored', async () => {
  const platform = new ManualPlatform();
  const waits = vi.spyOn(platform, 'schedule');
  const service = new SqliteCredentialService({ path, keys, platform });
  const stranger = new DatabaseSync(path);
  stranger.exec('BEGIN IMMEDIATE');
  const saving = service.saveCredential({ ...KEY, credential: apiKey('hunter2') });
  const failure: Promise<unknown> = saving.catch((error: unknown) => error);
  await expect.poll(() => waits.mock.calls.length).toBeGreaterThan(0);
  platform.advance(6000);
  expect(await failure).toMatchObject({ code: StorageError.code, retryable: true });
  stranger.exec('ROLLBACK');
  expect(await service.loadCredential(KEY)).toBeUndefined();
  stranger.close();
  service.close();
});

test('a missing folder is created, and new folders and files are private to their owner', async () => {
  path = join(folder, 'a', 'b', 'credentials.db');
  const service = new SqliteCredentialService({ path, keys });
  await service.saveCredential({ ...KEY, credential: apiKey('hunter2') });
  for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const made of [join(folder, 'a'), join(folder, 'a', 'b')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  service.close();
});

test('a file that is not a database is refused with its path', () => {
  writeFileSync(path, 'this is not a database, but it is long enough to have a header of a hundred bytes. '.repeat(9));
  for (const bad of [path, folder, join(path, 'below a file')]) {
    expect(() => new SqliteCredentialService({ path: bad, keys })).toThrow(ConfigurationError);
    expect(() => new SqliteCredentialService({ path: bad, keys })).toThrow(bad);
  }
  expect(() => new SqliteCredentialService({ path: '', keys })).toThrow('cannot use "" as a database of credentials');
});

test('a file of a newer version is refused and not changed', () => {
  new SqliteCredentialService({ path, keys }).close();
  const database = new DatabaseSync(path);
  database.exec("UPDATE eventloom_meta SET value = 99 WHERE key = 'credentials.schema'");
  expect(() => new SqliteCredentialService({ path, keys })).toThrow(/version 99/);
  expect(() => new SqliteCredentialService({ database, keys })).toThrow(ConfigurationError);
  database.close();
});

test('a given database keeps its other tables and stays open', async () => {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE mine (id INTEGER PRIMARY KEY); INSERT INTO mine VALUES (7)');
  const service = new SqliteCredentialService({ database, keys });
  await service.saveCredential({ ...KEY, credential: apiKey('hunter2') });
  service.close();
  expect(database.prepare('SELECT id FROM mine').get()?.['id']).toBe(7);
  expect(await new SqliteCredentialService({ database, keys }).loadCredential(KEY)).toEqual(apiKey('hunter2'));
  database.close();
});

test('a path with a database, neither of them, and an invalid key are refused without an open file', () => {
  const database = new DatabaseSync(':memory:');
  expect(() => new SqliteCredentialService({ keys })).toThrow(ConfigurationError);
  expect(() => new SqliteCredentialService({ path, database, keys })).toThrow(ConfigurationError);
  expect(() => new SqliteCredentialService({ path, keys: [] })).toThrow(ConfigurationError);
  expect(readdirSync(folder)).toEqual([]);
  database.close();
});
