import { type CredentialKey, InvalidRequestError } from '@eventloom/core';
import type { CredentialRule } from './credential-rule.ts';
import { KEY, token } from './samples.ts';

const BAD_NAMES: readonly string[] = ['', 'a\0b', 'a\ud800b', 'n'.repeat(257), '€'.repeat(86)];

/** Keys that a storage might confuse with each other. */
const KEYS: readonly CredentialKey[] = [
  { appName: 'a', userId: 'b', credentialKey: 'c' },
  { appName: 'a', userId: 'b', credentialKey: 'd' },
  { appName: 'a', userId: 'c', credentialKey: 'b' },
  { appName: 'b', userId: 'a', credentialKey: 'c' },
  { appName: 'A', userId: 'b', credentialKey: 'c' },
  { appName: 'a', userId: 'B', credentialKey: 'c' },
  { appName: 'a', userId: 'b', credentialKey: 'C' },
  { appName: 'a', userId: 'b', credentialKey: 'c ' },
  { appName: 'a/b', userId: 'c', credentialKey: 'd' },
  { appName: 'a', userId: 'b/c', credentialKey: 'd' },
  { appName: 'a', userId: 'b', credentialKey: 'c/d' },
  { appName: 'a', userId: 'b","c', credentialKey: 'd' },
  { appName: 'a', userId: 'caf\u00e9', credentialKey: '%_' },
  { appName: 'a', userId: 'cafe\u0301', credentialKey: '%_' },
  { appName: '__proto__', userId: 'constructor', credentialKey: 'toString' },
  { appName: 'n'.repeat(256), userId: '€'.repeat(85), credentialKey: "it's 🔑" },
];

/** Rules about whose credentials a load finds. */
export const scopeRules: readonly CredentialRule[] = [
  {
    id: 'scope.keys-apart',
    title: 'A credential is loaded and deleted only by its app, user and name.',
    async check({ service, expect }) {
      for (const [index, key] of KEYS.entries()) {
        expect.same(`the credential of key ${index}`, (await service.loadCredential(key)) === undefined, true);
        await service.saveCredential({ ...key, credential: token(`${index}`) });
      }
      for (const [index, key] of KEYS.entries()) {
        expect.same(`the stored credential of key ${index}`, await service.loadCredential(key), token(`${index}`));
        await service.deleteCredential(key);
        expect.same(
          `the remaining credential of key ${index}`,
          (await service.loadCredential(key)) === undefined,
          true,
        );
      }
    },
  },
  {
    id: 'scope.bad-names-refused',
    title:
      'Every method refuses a name that is empty, too long, malformed or contains NUL; the error names the field and has no secret.',
    async check({ service, expect }) {
      for (const bad of BAD_NAMES) {
        for (const field of ['appName', 'userId', 'credentialKey'] as const) {
          const key = { ...KEY, [field]: bad };
          for (const [method, call] of Object.entries({
            loadCredential: () => service.loadCredential(key),
            saveCredential: () => service.saveCredential({ ...key, credential: token('hunter2') }),
            deleteCredential: () => service.deleteCredential(key),
          })) {
            const error = await expect.rejects(`${method} with a bad ${field}`, call(), InvalidRequestError);
            expect.true(`the message of ${method} names ${field}`, error.message.includes(field));
            expect.true(`the message of ${method} has no secret`, !error.message.includes('hunter2'));
          }
        }
      }
    },
  },
];
