import { type AuthConfig, type AuthCredential, type CallbackContext, ConfigurationError } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { describe, expect, test } from 'vitest';
import { AdkInMemoryCredentialService, toRunCredentials } from './program-services.ts';

const KEY = { appName: 'app', userId: 'ann', credentialKey: 'calendar' };
const credential: AuthCredential = { authType: 'apiKey', apiKey: 'k1' };

class UserCredentials {
  readonly #kept = new Map<string, AuthCredential>();
  async loadCredential({ credentialKey }: AuthConfig, context: CallbackContext): Promise<AuthCredential | undefined> {
    return this.#kept.get(`${context.invocationContext.session.userId} ${credentialKey}`);
  }
  async saveCredential(
    { credentialKey, exchangedAuthCredential }: AuthConfig,
    { userId }: CallbackContext,
  ): Promise<void> {
    if (exchangedAuthCredential) this.#kept.set(`${userId} ${credentialKey}`, exchangedAuthCredential);
  }
}

describe('a credential service of a program', () => {
  test('gets the key and the user of a credential', async () => {
    const service = toRunCredentials(new UserCredentials()) ?? expect.unreachable();
    await service.saveCredential({ ...KEY, credential });
    expect(await service.loadCredential(KEY)).toEqual(credential);
    expect(await service.loadCredential({ ...KEY, userId: 'bob' })).toBeUndefined();
  });

  test('cannot read values that the runtime does not know, and cannot delete', async () => {
    const loadCredential = async ({ authScheme }: AuthConfig) => authScheme as never;
    const service = toRunCredentials({ loadCredential, saveCredential: async () => {} }) ?? expect.unreachable();
    await expect(service.loadCredential(KEY)).rejects.toThrow(
      'credentialService: authConfig.authScheme is not known when the runtime loads or saves a credential; it has appName, userId, credentialKey',
    );
    await expect(service.deleteCredential(KEY)).rejects.toThrow(ConfigurationError);
  });

  test('stores credentials if it is a service of Eventloom, and is refused without its methods', async () => {
    const service = new InMemoryCredentialService();
    const key = { appName: 'a', userId: 'u', credentialKey: 'k' };
    const given = toRunCredentials(service);
    expect(toRunCredentials(given)).toBe(given);
    await given?.saveCredential({ ...key, credential: { authType: 'apiKey', apiKey: 'hunter2' } });
    expect(await service.loadCredential(key)).toEqual({ authType: 'apiKey', apiKey: 'hunter2' });
    expect(() => toRunCredentials({ loadCredential: async () => undefined } as never)).toThrow(
      'Runner: credentialService: expected a credential service with loadCredential and saveCredential',
    );
  });
});

test('InMemoryCredentialService takes the auth config and the context of a tool, and the keys of the runtime', async () => {
  const service = new AdkInMemoryCredentialService();
  const authConfig = { credentialKey: 'calendar', authScheme: { type: 'apiKey' }, exchangedAuthCredential: credential };
  const context = { invocationContext: { session: { appName: 'app', userId: 'ann' } } };
  await service.saveCredential(authConfig, context);
  expect(await service.loadCredential(authConfig, context)).toEqual(credential);
  expect(await service.loadCredential(KEY)).toEqual(credential);
  await service.saveCredential({ ...KEY, credential: { ...credential, apiKey: 'k2' } });
  await service.saveCredential({ credentialKey: 'calendar' }, context);
  expect(await service.loadCredential(authConfig, context)).toHaveProperty('apiKey', 'k2');
});

test.each([undefined, {}, { invocationContext: {} }])(
  'InMemoryCredentialService refuses an auth config with the context %j',
  async (context) => {
    const service = new AdkInMemoryCredentialService();
    await expect(service.loadCredential({ credentialKey: 'calendar' }, context as never)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('write loadCredential(authConfig, toolContext)'),
    });
  },
);
