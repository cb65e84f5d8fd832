import { type AuthCredential, InvalidRequestError } from '@eventloom/core';
import type { CredentialRule } from './credential-rule.ts';
import { CREDENTIALS, KEY, token } from './samples.ts';

/** Rules about what the service stores, how long, and that callers cannot modify the stored credential. */
export const keepRules: readonly CredentialRule[] = [
  {
    id: 'keep.whole',
    title: 'A credential of any kind is loaded unchanged, including unknown fields.',
    async check({ service, expect }) {
      for (const credential of CREDENTIALS) {
        await service.saveCredential({ ...KEY, credential });
        expect.same(`the stored ${credential.authType}`, await service.loadCredential(KEY), credential);
      }
    },
  },
  {
    id: 'keep.absent',
    title: 'Loading a credential that was never saved returns undefined.',
    async check({ service, expect }) {
      expect.same('the stored credential', (await service.loadCredential(KEY)) === undefined, true);
    },
  },
  {
    id: 'keep.later-wins',
    title: 'Saving a credential replaces the previous one completely.',
    async check({ service, expect }) {
      await service.saveCredential({ ...KEY, credential: { ...token('one'), resourceRef: 'first' } });
      await service.saveCredential({ ...KEY, credential: token('two') });
      expect.same('the stored credential', await service.loadCredential(KEY), token('two'));
    },
  },
  {
    id: 'keep.deleted',
    title: 'A deleted credential is undefined, deleting an absent one is a no-op, and another one can be saved.',
    async check({ service, expect }) {
      await expect.fulfils('deleting an absent credential', service.deleteCredential(KEY));
      await service.saveCredential({ ...KEY, credential: token('one') });
      await service.deleteCredential(KEY);
      await expect.fulfils('deleting the credential again', service.deleteCredential(KEY));
      expect.same('the stored credential', (await service.loadCredential(KEY)) === undefined, true);
      await service.saveCredential({ ...KEY, credential: token('two') });
      expect.same('the credential saved afterwards', await service.loadCredential(KEY), token('two'));
    },
  },
  {
    id: 'keep.copies-given',
    title: 'Changing a credential after the save does not change the stored one.',
    async check({ service, expect }) {
      const given = token('one');
      const saving = service.saveCredential({ ...KEY, credential: given });
      given.authType = 'changed';
      if (given.oauth2) given.oauth2.accessToken = 'changed';
      await saving;
      expect.same('the stored credential', await service.loadCredential(KEY), token('one'));
    },
  },
  {
    id: 'keep.copies-taken',
    title: 'Changing a loaded credential does not change the stored one.',
    async check({ service, expect }) {
      await service.saveCredential({ ...KEY, credential: token('one') });
      const taken = expect.present('the credential', await service.loadCredential(KEY));
      taken.authType = 'changed';
      if (taken.oauth2) taken.oauth2.accessToken = 'changed';
      expect.same('the stored credential', await service.loadCredential(KEY), token('one'));
    },
  },
  {
    id: 'keep.at-once',
    title: 'Of concurrently saved credentials one is kept completely.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      const given = Array.from({ length: 20 }, (_, number) => ({
        ...token(`${number}`),
        resourceRef: `${number}`.repeat(1000),
      }));
      const saves = given.map((credential, number) =>
        (number % 2 === 0 ? service : other).saveCredential({ ...KEY, credential }),
      );
      await expect.fulfils('the calls', Promise.all(saves));
      const kept = expect.present('the credential', await service.loadCredential(KEY));
      expect.same('the stored credential', kept, given[Number(kept.oauth2?.accessToken)]);
    },
  },
  {
    id: 'keep.other-process',
    title: 'A save or deletion of one process is visible to the others once it is acknowledged.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      await other.loadCredential(KEY);
      await service.saveCredential({ ...KEY, credential: token('one') });
      expect.same('the credential in the other process', await other.loadCredential(KEY), token('one'));
      await other.saveCredential({ ...KEY, credential: token('two') });
      expect.same('the credential in the first process', await service.loadCredential(KEY), token('two'));
      await other.deleteCredential(KEY);
      expect.same(
        'the credential in the first process at the end',
        (await service.loadCredential(KEY)) === undefined,
        true,
      );
      expect.same(
        'the credential in a later process',
        (await (await subject.another()).loadCredential(KEY)) === undefined,
        true,
      );
    },
  },
  {
    id: 'keep.json-only',
    title: 'An invalid credential is refused with an error that does not quote it, and the stored one stays.',
    async check({ service, expect }) {
      await service.saveCredential({ ...KEY, credential: token('one') });
      const secret = 'hunter2';
      for (const [what, bad] of Object.entries({
        text: secret,
        'an object without authType': { apiKey: secret },
        'an authType that is not a string': { authType: 7, apiKey: secret },
        'a number that is not JSON': { authType: 'apiKey', apiKey: secret, expiresAt: Number.NaN },
        'a map': { authType: 'apiKey', apiKey: secret, mine: new Map([[secret, secret]]) },
      })) {
        // A caller in JavaScript can pass values that TypeScript refuses.
        const credential = bad as unknown as AuthCredential;
        const call = service.saveCredential({ ...KEY, credential });
        const error = await expect.rejects(`saving ${what}`, call, InvalidRequestError);
        expect.true(`the message of ${what} quotes nothing`, !error.message.includes(secret));
      }
      expect.same('the stored credential', await service.loadCredential(KEY), token('one'));
    },
  },
];
