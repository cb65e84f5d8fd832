import { expect, test } from 'vitest';
import { artifactKeys, MAX_PREFIX_BYTES, nameOf, ownerKeys, versionKey, versionOf } from './r2-artifact-keys.ts';

const OWNER = { appName: 'app', userId: 'ada', sessionId: 'first' };
const NAMES = [
  'a',
  'A',
  'a/b',
  'a%2Fb',
  '.a',
  '...',
  '~a',
  '~',
  '%7Ea',
  'é',
  'e\u0301',
  '\ufeffmark',
  '名前/✅.txt',
  "it's (1)!*",
  'n'.repeat(512),
  '%'.repeat(512),
  '€'.repeat(170),
  `\ufeff${'€'.repeat(169)}`,
  '💡'.repeat(128),
];
const LONG = ['n'.repeat(256), '€'.repeat(85), `${'€'.repeat(84)}n`, '..', '~', 'a b', 'n'.repeat(64), 'n'.repeat(65)];

test('each name has its own key prefix, from which the name can be read back', async () => {
  const owner = await ownerKeys('', OWNER);
  const folders = NAMES.map((name) => artifactKeys(owner, name).versions);
  expect(folders.map((folder) => nameOf(owner, folder))).toEqual(NAMES);
  expect(new Set(folders).size).toBe(NAMES.length);
  const segments = folders.map((folder) => folder.slice(owner.versions.length, -1));
  for (const segment of segments) expect(segment).not.toMatch(/\/|^\.{1,2}$/);
});

test("every key fits R2's limit and has only one encoding", async () => {
  for (const name of NAMES) {
    for (const long of LONG) {
      const owner = await ownerKeys('p'.repeat(MAX_PREFIX_BYTES), { appName: long, userId: long, sessionId: long });
      const artifact = artifactKeys(owner, name);
      for (const key of [artifact.deleted, versionKey(artifact, 0), versionKey(artifact, 9_999_999_999)]) {
        expect(key).toMatch(/^[\x21-\x7e]+$/);
        expect(key.length).toBeLessThanOrEqual(1024);
      }
    }
  }
});

test('no two owners share a key', async () => {
  const names = [...LONG, 'a/b', 'a', 'b', 'sessions', 'versions', `${'n'.repeat(64)}é`, `${'n'.repeat(64)}è`];
  const owners = names.flatMap((one) =>
    names.flatMap((other) => [
      { appName: one, userId: other, sessionId: undefined },
      { appName: 'app', userId: one, sessionId: other },
    ]),
  );
  const keys = await Promise.all(owners.map((owner) => ownerKeys('', owner)));
  expect(new Set(keys.flatMap(({ versions, deleted }) => [versions, deleted])).size).toBe(owners.length * 2);
});

test('keys of later versions sort before those of earlier ones', async () => {
  const artifact = artifactKeys(await ownerKeys('', OWNER), 'a');
  const versions = [0, 1, 9, 10, 99, 100, 1_000_000, 9_999_999_989, 9_999_999_990, 9_999_999_999];
  const keys = versions.map((version) => versionKey(artifact, version));
  expect(keys.toSorted()).toEqual(keys.toReversed());
  expect(keys.map(versionOf)).toEqual(versions);
});
