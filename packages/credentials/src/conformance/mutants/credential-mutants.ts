import { type AuthCredential, type CredentialKey, InvalidRequestError } from '@eventloom/core';
import { overlay } from '@eventloom/core/conformance';
import { InMemoryCredentialService } from '../../in-memory-credential-service.ts';
import { KEY } from '../samples.ts';
import { broken, type CredentialMutant } from './mutant.ts';

/** Changes the names in every key, so that the service confuses keys that become equal. */
function renaming(change: (key: CredentialKey) => Partial<CredentialKey>): Parameters<typeof broken>[2] {
  return (service) => ({
    loadCredential: (key) => service.loadCredential({ ...key, ...change(key) }),
    saveCredential: (request) => service.saveCredential({ ...request, ...change(request) }),
    deleteCredential: (key) => service.deleteCredential({ ...key, ...change(key) }),
  });
}

const refusedWith = (message: string): Promise<never> => Promise.reject(new InvalidRequestError(message));

export const credentialMutants: readonly CredentialMutant[] = [
  broken('keep.whole', 'drops unknown fields', (service) => ({
    saveCredential: ({ credential: { authType, apiKey, http, oauth2, serviceAccount }, ...key }) =>
      service.saveCredential({
        ...key,
        credential: JSON.parse(JSON.stringify({ authType, apiKey, http, oauth2, serviceAccount })),
      }),
  })),
  broken('keep.absent', 'returns a credential to every user', (service) => ({
    loadCredential: async (key) => (await service.loadCredential(key)) ?? { authType: '' },
  })),
  broken('keep.later-wins', 'merges a credential into the previous one', (service) => ({
    saveCredential: async ({ credential, ...key }) =>
      service.saveCredential({ ...key, credential: { ...(await service.loadCredential(key)), ...credential } }),
  })),
  broken('keep.later-wins', 'keeps the first credential', (service) => ({
    saveCredential: async (request) => {
      if (!(await service.loadCredential(request))) await service.saveCredential(request);
    },
  })),
  broken('keep.deleted', 'deletes nothing', () => ({ deleteCredential: async () => undefined })),
  broken('keep.deleted', 'throws for an absent credential', (service) => ({
    deleteCredential: async (key) =>
      (await service.loadCredential(key)) ? service.deleteCredential(key) : refusedWith('credentialKey'),
  })),
  broken('keep.copies-given', 'copies a credential after the call', (service) => ({
    saveCredential: async (request) => {
      await Promise.resolve();
      await service.saveCredential(request);
    },
  })),
  broken('keep.copies-taken', 'returns the same object twice', (service) => {
    const given = new Map<string, AuthCredential | undefined>();
    return {
      loadCredential: async (key) => {
        const name = JSON.stringify([key.appName, key.userId, key.credentialKey]);
        if (!given.has(name)) given.set(name, await service.loadCredential(key));
        return given.get(name);
      },
    };
  }),
  broken('keep.at-once', 'writes a credential field by field', (service) => ({
    saveCredential: async ({ credential: { resourceRef, ...credential }, ...key }) => {
      await service.saveCredential({ ...key, credential });
      // The first credential's second write comes after all writes of the others.
      for (let wait = Number(credential.oauth2?.accessToken); wait < 20; wait++) await Promise.resolve();
      const kept = (await service.loadCredential(key)) ?? credential;
      await service.saveCredential({ ...key, credential: { ...kept, ...(resourceRef ? { resourceRef } : {}) } });
    },
  })),
  {
    breaks: 'keep.other-process',
    how: 'caches the credentials that it read',
    make: async () => {
      const shared = new InMemoryCredentialService();
      const make = () => {
        const read = new Map<string, Promise<AuthCredential | undefined>>();
        return overlay(shared, {
          loadCredential: (key) => {
            const known = read.get(key.credentialKey) ?? shared.loadCredential(key);
            read.set(key.credentialKey, known);
            return known;
          },
        });
      };
      return { service: make(), another: make };
    },
  },
  broken('keep.json-only', 'stores values that are not JSON as null', (service) => ({
    saveCredential: async (request) => {
      await service.saveCredential(request).catch(() => undefined);
    },
  })),
  broken('keep.json-only', 'quotes an invalid credential', (service) => ({
    saveCredential: (request) =>
      service.saveCredential(request).catch(() => refusedWith(JSON.stringify(request.credential))),
  })),
  broken(
    'scope.keys-apart',
    'shares credentials between users',
    renaming(() => ({ userId: KEY.userId })),
  ),
  broken(
    'scope.keys-apart',
    'shares credentials between apps',
    renaming(() => ({ appName: KEY.appName })),
  ),
  broken(
    'scope.keys-apart',
    'has one credential per user',
    renaming(() => ({ credentialKey: 'one' })),
  ),
  broken(
    'scope.keys-apart',
    'ignores the case of names',
    renaming(({ userId }) => ({ userId: userId.toLowerCase() })),
  ),
  broken('scope.keys-apart', 'deletes all credentials of a user', (service) => {
    const kept: CredentialKey[] = [];
    return {
      saveCredential: async (request) => {
        kept.push(request);
        await service.saveCredential(request);
      },
      deleteCredential: async ({ appName, userId }) => {
        for (const key of kept)
          if (key.appName === appName && key.userId === userId) await service.deleteCredential(key);
      },
    };
  }),
  broken('scope.bad-names-refused', 'accepts invalid names', (service) => ({
    loadCredential: (key) => service.loadCredential(key).catch(() => undefined),
  })),
  broken('scope.bad-names-refused', 'quotes the secret in the error for a name', (service) => ({
    saveCredential: (request) =>
      service.saveCredential(request).catch((error: Error) => refusedWith(error.message + JSON.stringify(request))),
  })),
  broken('describe.public', 'sends the client the whole config', () => ({
    describe: (config) => config as ReturnType<InMemoryCredentialService['describe']>,
  })),
  broken('describe.public', 'sends the client too few fields', (service) => ({
    describe: (config) => {
      const { authScheme, credentialKey } = service.describe(config);
      return { authScheme, credentialKey };
    },
  })),
  broken('describe.no-scheme', 'accepts any value as a scheme', (service) => ({
    describe: (config) => service.describe({ ...Object(config), authScheme: { type: 'oauth2' } }),
  })),
  broken('describe.answer', 'accepts any answer as a credential', (service) => ({
    readAnswer: (answer) => service.readAnswer(answer) ?? { authType: 'unknown' },
  })),
  broken('describe.answer', 'reads camel case only', () => ({
    readAnswer: ({ authType, ...rest }) => (typeof authType === 'string' ? { authType, ...rest } : undefined),
  })),
];
