import { expect, test } from 'vitest';
import { InvalidRequestError } from '../errors/invalid-request-error.ts';
import type { AuthCredential } from './auth-config.ts';
import { InMemoryCredentialService } from './in-memory-credential-service.ts';

const KEY = { appName: 'app', userId: 'u', credentialKey: 'k' };
const token = (accessToken: string): AuthCredential => ({ authType: 'oauth2', oauth2: { accessToken } });

test('a credential is there for its app, its user and its key alone', async () => {
  const service = new InMemoryCredentialService();
  await service.saveCredential({ ...KEY, credential: token('t') });
  expect(await service.loadCredential(KEY)).toEqual(token('t'));
  for (const other of [{ appName: 'b' }, { userId: 'v' }, { credentialKey: 'l' }]) {
    expect(await service.loadCredential({ ...KEY, ...other })).toBeUndefined();
  }
});

test('a later credential takes the place of the one before, and a deleted one is gone', async () => {
  const service = new InMemoryCredentialService();
  await service.saveCredential({ ...KEY, credential: token('1') });
  await service.saveCredential({ ...KEY, credential: token('2') });
  expect(await service.loadCredential(KEY)).toEqual(token('2'));
  await service.deleteCredential(KEY);
  await service.deleteCredential(KEY);
  expect(await service.loadCredential(KEY)).toBeUndefined();
});

test('what is given and taken is a copy', async () => {
  const service = new InMemoryCredentialService();
  const given = token('t');
  await service.saveCredential({ ...KEY, credential: given });
  given.authType = 'changed';
  const taken = await service.loadCredential(KEY);
  if (taken) taken.authType = 'changed';
  expect(await service.loadCredential(KEY)).toEqual(token('t'));
});

test.each([
  ['appName', ''],
  ['userId', 'a\0b'],
  ['credentialKey', 'k'.repeat(257)],
])('a key whose %s cannot be one is refused, without the credential in the message', async (field, value) => {
  const service = new InMemoryCredentialService();
  const key = { ...KEY, [field]: value };
  const error: unknown = await service
    .saveCredential({ ...key, credential: token('hunter2') })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect(String(error)).not.toContain('hunter2');
  await expect(service.loadCredential(key)).rejects.toThrow(field);
  await expect(service.deleteCredential(key)).rejects.toThrow(field);
});
