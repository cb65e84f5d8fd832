import { type AuthCredential, ConfigurationError, type CredentialKey } from '@eventloom/core';
import { describe, expect, test, vi } from 'vitest';
import { credentialServiceConformance } from './conformance/index.ts';
import type { CredentialStore, SealedCredential } from './credential-store.ts';
import { EncryptedCredentialService } from './encrypted-credential-service.ts';
import { createEncryptionKey, parseEncryptionKey } from './credential-cipher.ts';
import { SealedCredentialError } from './errors.ts';

const KEY: CredentialKey = { appName: 'app', userId: 'ann', credentialKey: 'calendar' };
const token = (accessToken: string): AuthCredential => ({ authType: 'oauth2', oauth2: { accessToken } });

/** A store whose rows a test can read and change. */
class MapStore implements CredentialStore {
  readonly rows = new Map<string, SealedCredential>();

  async load(key: CredentialKey): Promise<SealedCredential | undefined> {
    return this.rows.get(nameOf(key));
  }

  async save(key: CredentialKey, credential: SealedCredential): Promise<void> {
    this.rows.set(nameOf(key), credential);
  }

  async delete(key: CredentialKey): Promise<void> {
    this.rows.delete(nameOf(key));
  }
}

function nameOf({ appName, userId, credentialKey }: CredentialKey): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

describe('EncryptedCredentialService keeps the contract', () => {
  const cases = credentialServiceConformance(async () => {
    const options = { store: new MapStore(), keys: [createEncryptionKey()] };
    const another = () => new EncryptedCredentialService(options);
    return { service: another(), another };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});

test('a failed key import is repeated by the next call', async () => {
  const service = new EncryptedCredentialService({ store: new MapStore(), keys: [createEncryptionKey()] });
  const failing = vi.spyOn(crypto.subtle, 'importKey').mockRejectedValueOnce(new Error('no memory'));
  await expect(service.saveCredential({ ...KEY, credential: token('t') })).rejects.toThrow('no memory');
  await service.saveCredential({ ...KEY, credential: token('t') });
  expect(await service.loadCredential(KEY)).toEqual(token('t'));
  failing.mockRestore();
});

test('stored rows reveal nothing, and equal credentials differ', async () => {
  const store = new MapStore();
  const key = createEncryptionKey();
  const service = new EncryptedCredentialService({ store, keys: [key] });
  const stored: string[] = [];
  for (let time = 0; time < 2; time++) {
    await service.saveCredential({ ...KEY, credential: token('hunter2') });
    const { keyId, sealed } = store.rows.get(nameOf(KEY)) as SealedCredential;
    stored.push(Array.from(sealed, (byte) => String.fromCharCode(byte)).join(''));
    expect(sealed.length).toBe(12 + JSON.stringify(token('hunter2')).length + 16);
    expect(Array.from(key, (byte) => byte.toString(16).padStart(2, '0')).join('')).not.toContain(keyId);
  }
  for (const text of stored) expect(text).not.toMatch(/hunter2|oauth2|accessToken/);
  expect(stored[0]?.slice(0, 12)).not.toBe(stored[1]?.slice(0, 12));
  expect(stored[0]?.slice(12)).not.toBe(stored[1]?.slice(12));
});

test('a row copied to another user, app or name is refused', async () => {
  const store = new MapStore();
  const service = new EncryptedCredentialService({ store, keys: [createEncryptionKey()] });
  await service.saveCredential({ ...KEY, credential: token('hunter2') });
  const row = store.rows.get(nameOf(KEY)) as SealedCredential;
  for (const change of [{ userId: 'bob' }, { appName: 'other' }, { credentialKey: 'mail' }]) {
    const theirs = { ...KEY, ...change };
    await store.save(theirs, row);
    const failure: unknown = await service.loadCredential(theirs).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SealedCredentialError);
    expect(String(failure)).not.toContain('hunter2');
  }
});

test('a row changed at any byte is refused and can be overwritten', async () => {
  const store = new MapStore();
  const service = new EncryptedCredentialService({ store, keys: [createEncryptionKey()] });
  await service.saveCredential({ ...KEY, credential: token('hunter2') });
  const { keyId, sealed } = store.rows.get(nameOf(KEY)) as SealedCredential;
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.map((byte, index) => (index === at ? byte ^ 1 : byte));
    await store.save(KEY, { keyId, sealed: changed });
    await expect(service.loadCredential(KEY)).rejects.toThrow(SealedCredentialError);
  }
  for (const cut of [0, 11, 12, 27, sealed.length - 1]) {
    await store.save(KEY, { keyId, sealed: sealed.slice(0, cut) });
    await expect(service.loadCredential(KEY)).rejects.toThrow(SealedCredentialError);
  }
  await service.saveCredential({ ...KEY, credential: token('new') });
  expect(await service.loadCredential(KEY)).toEqual(token('new'));
});

test('with a new first key, older credentials can be read, and are encrypted with the new key when saved', async () => {
  const store = new MapStore();
  const [former, next] = [createEncryptionKey(), createEncryptionKey()];
  const before = new EncryptedCredentialService({ store, keys: [former] });
  await before.saveCredential({ ...KEY, credential: token('one') });
  const both = new EncryptedCredentialService({ store, keys: [next, former] });
  expect(await both.loadCredential(KEY)).toEqual(token('one'));
  const after = new EncryptedCredentialService({ store, keys: [next] });
  expect(await after.loadCredential(KEY)).toBeUndefined();
  await both.saveCredential({ ...KEY, credential: token('two') });
  expect(await after.loadCredential(KEY)).toEqual(token('two'));
  expect(await before.loadCredential(KEY)).toBeUndefined();
});

test('a key buffer that is wiped after the call is still used', async () => {
  const store = new MapStore();
  const key = createEncryptionKey();
  const same = Uint8Array.from(key);
  const service = new EncryptedCredentialService({ store, keys: [key] });
  key.fill(0);
  await service.saveCredential({ ...KEY, credential: token('one') });
  expect(await new EncryptedCredentialService({ store, keys: [same] }).loadCredential(KEY)).toEqual(token('one'));
});

test('a service without keys or with one key in place of the list is refused, and the error says what to write', () => {
  const store = new MapStore();
  const write = 'write keys: [parseEncryptionKey(text)], with the text that openssl rand -base64 32 prints';
  expect(() => new EncryptedCredentialService({ store } as never)).toThrow(
    `keys: expected a list of keys, got nothing; ${write}`,
  );
  expect(() => new EncryptedCredentialService({ store } as never)).toThrow(ConfigurationError);
  expect(() => new EncryptedCredentialService({ store, keys: createEncryptionKey() } as never)).toThrow(
    `keys: expected a list, got an object of the class Uint8Array; ${write}`,
  );
});

test.each([[], [new Uint8Array(16)], [createEncryptionKey(), new Uint8Array(33)]].map((keys) => ({ keys })))(
  'invalid keys are refused: $keys.length',
  ({ keys }) => {
    expect(() => new EncryptedCredentialService({ store: new MapStore(), keys })).toThrow(ConfigurationError);
  },
);

test('a key is read from base64 in either alphabet, with a trailing newline', () => {
  const bytes = Uint8Array.from({ length: 32 }, (_, index) => 255 - index);
  const text = '//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi4eA=';
  expect(parseEncryptionKey(`${text}\n`)).toEqual(bytes);
  expect(parseEncryptionKey(text.replaceAll('/', '_').replaceAll('+', '-').replace('=', ''))).toEqual(bytes);
});

test.each(['', 'hunter2', 'hunter2!', btoa('hunter2 is no key'), btoa('hunter2'.repeat(9))])(
  'an invalid key is refused and not quoted: %s',
  (text) => {
    const read = () => parseEncryptionKey(text);
    expect(read).toThrow(ConfigurationError);
    if (text !== '') expect(read).not.toThrow(text);
  },
);

test('parseEncryptionKey refuses a missing text, as of a variable of the environment that is not set', () => {
  const parse = (): Uint8Array => parseEncryptionKey(undefined as never);
  expect(parse).toThrow(ConfigurationError);
  expect(parse).toThrow('encryption key: expected the base64 of 32 random bytes, got nothing; create one with');
});
