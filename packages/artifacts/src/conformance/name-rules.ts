import type { ArtifactKey } from '@eventloom/core';
import type { ArtifactRule, Subject } from './artifact-rule.ts';
import { SESSION, text } from './samples.ts';

/** Names that a storage might confuse with each other, or with its own files. */
const ODD_NAMES: readonly string[] = [
  'a',
  'a/b',
  'a/b/c',
  'a%2Fb',
  'a%2fb/c',
  'a/versions/0',
  'versions/0',
  '0',
  '0.json',
  'a.json',
  '.hidden',
  'a.',
  'a..b',
  '...',
  'user:a',
  'user:a/b',
  'user:user:a',
  'app:a',
  'session:a',
  'users/user/artifacts/a',
  'a b',
  ' ',
  'a+',
  '+',
  '~',
  "it's (1)!*",
  'a?b=c&d#e',
  '<html>"|:;',
  'CON',
  '名前/✅.txt',
  'é',
  'e\u0301',
  '__proto__',
  'constructor',
  'user:__proto__',
  'n'.repeat(512),
  `${'n'.repeat(255)}/${'n'.repeat(256)}`,
  'n'.repeat(200),
  'n'.repeat(201),
  '%'.repeat(512),
  '€'.repeat(170),
];

/** Rules about artifact names and their scopes. */
export const nameRules: readonly ArtifactRule[] = [
  {
    id: 'name.odd-names',
    title: 'Different filenames are different artifacts.',
    async check({ service, expect }) {
      for (const filename of ODD_NAMES) {
        const version = await service.saveArtifact({ ...SESSION, filename, artifact: text(filename) });
        expect.same(`the version of ${filename}`, version, 0);
      }
      for (const filename of ODD_NAMES) {
        const key = { ...SESSION, filename };
        expect.same(`the part of ${filename}`, await service.loadArtifact(key), text(filename));
        expect.same(`the versions of ${filename}`, await service.listVersions(key), [0]);
      }
      expect.same('the names', await service.listArtifactKeys(SESSION), ODD_NAMES.toSorted());
    },
  },
  {
    id: 'name.user-scope',
    title: 'A filename with the prefix user: is shared by all sessions of the user in the app, and by no others.',
    async check(subject) {
      const { service, expect } = subject;
      const key = { ...SESSION, filename: 'user:profile' };
      await service.saveArtifact({ ...key, artifact: text('one') });
      const other = { ...key, sessionId: 'another' };
      expect.same('in another session', await service.loadArtifact(other), text('one'));
      expect.same('the next version', await service.saveArtifact({ ...other, artifact: text('two') }), 1);
      expect.same('in the first session', await service.loadArtifact(key), text('two'));
      for (const stranger of [
        { ...key, userId: 'stranger' },
        { ...key, appName: 'other app' },
      ]) {
        await isEmpty(subject, stranger);
      }
      await isEmpty(subject, { ...key, filename: 'profile' }, ['user:profile']);
    },
  },
  {
    id: 'name.sessions-apart',
    title: 'A filename without the prefix user: belongs to one session of one user of one app.',
    async check({ service, expect }) {
      const keys: readonly ArtifactKey[] = [
        { appName: 'a', userId: 'b', sessionId: 'c', filename: 'd' },
        { appName: 'a', userId: 'b', sessionId: 'x', filename: 'd' },
        { appName: 'a', userId: 'x', sessionId: 'c', filename: 'd' },
        { appName: 'x', userId: 'b', sessionId: 'c', filename: 'd' },
        { appName: 'a/b', userId: 'c', sessionId: 'd', filename: 'd' },
        { appName: 'a', userId: 'b/c', sessionId: 'd', filename: 'd' },
        { appName: 'a', userId: 'b', sessionId: 'c/d', filename: 'd' },
        { appName: 'a', userId: 'b', sessionId: 'artifacts', filename: 'd' },
        { appName: 'a', userId: 'sessions', sessionId: 'artifacts', filename: 'd' },
        { appName: '..', userId: '..', sessionId: '..', filename: 'd' },
        { appName: '.', userId: '%2E', sessionId: '%2e', filename: 'd' },
        { appName: 'n'.repeat(256), userId: '€'.repeat(85), sessionId: 'n'.repeat(256), filename: 'd' },
      ];
      for (const [index, key] of keys.entries()) {
        expect.same('the version', await service.saveArtifact({ ...key, artifact: text(`${index}`) }), 0);
      }
      for (const [index, key] of keys.entries()) {
        expect.same('the part', await service.loadArtifact(key), text(`${index}`));
        expect.same('the names', await service.listArtifactKeys(key), ['d']);
      }
    },
  },
  {
    id: 'name.listing',
    title: 'A session lists its own filenames and those of its user, each once, sorted by code unit.',
    async check({ service, expect }) {
      expect.same('without artifacts', await service.listArtifactKeys(SESSION), []);
      for (const filename of ['b', 'user:m', 'a/z', 'z', 'Z', 'a', 'user:a', 'ü', 'a-', 'user:z']) {
        for (const content of ['one', 'two'])
          await service.saveArtifact({ ...SESSION, filename, artifact: text(content) });
      }
      const expected = ['Z', 'a', 'a-', 'a/z', 'b', 'user:a', 'user:m', 'user:z', 'z', 'ü'];
      expect.same('the names', await service.listArtifactKeys(SESSION), expected);
      const other = { ...SESSION, sessionId: 'another' };
      expect.same('in another session', await service.listArtifactKeys(other), ['user:a', 'user:m', 'user:z']);
    },
  },
];

async function isEmpty({ service, expect }: Subject, key: ArtifactKey, names: readonly string[] = []): Promise<void> {
  expect.same('the part', await service.loadArtifact(key), undefined);
  expect.same('the versions', await service.listVersions(key), []);
  expect.same('the names', await service.listArtifactKeys(key), names);
}
