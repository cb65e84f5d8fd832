import { ConfigurationError, type Part } from '@eventloom/core';
import { env } from 'cloudflare:workers';
import { beforeEach, expect, test } from 'vitest';
import type { R2ArtifactBucket } from './r2-artifact-bucket.ts';
import { artifactKeys, ownerKeys, versionKey } from './r2-artifact-keys.ts';
import { R2ArtifactService } from './r2-artifact-service.ts';
import { toR2Version } from './r2-version.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session', filename: 'report.bin' };
const BYTES = { inlineData: { mimeType: 'image/png', data: 'AAEC/w==' } };
const bucket = env.ARTIFACTS;
let prefix = '';
let service = new R2ArtifactService({ bucket });
beforeEach(() => {
  prefix = `${crypto.randomUUID()}/`;
  service = new R2ArtifactService({ bucket, prefix });
});

/** Every key in the bucket that this test made. */
async function keysInBucket(): Promise<string[]> {
  const keys: string[] = [];
  for (let startAfter = prefix; ; startAfter = keys.at(-1) ?? '') {
    const page = await bucket.list({ prefix, startAfter });
    keys.push(...page.objects.map(({ key }) => key));
    if (!page.truncated) return keys;
  }
}

/** Stores a version as the service would, in one operation instead of four. */
async function storeVersion(filename: string, version: number): Promise<void> {
  const keys = artifactKeys(await ownerKeys(prefix, KEY), filename);
  const record = { part: { text: `version ${version}` }, mimeType: 'text/plain', createTime: version };
  const { body, customMetadata } = toR2Version({ record, data: undefined });
  await bucket.put(versionKey(keys, version), body, { customMetadata });
}

test('more versions than one R2 list page are listed, found and deleted', async () => {
  const versions = Array.from({ length: 1103 }, (_, version) => version);
  await Promise.all(versions.map((version) => storeVersion(KEY.filename, version)));
  expect(await service.listVersions(KEY)).toEqual(versions);
  expect((await service.listArtifactVersions(KEY)).map(({ createTime }) => createTime)).toEqual(versions);
  expect(await service.loadArtifact(KEY)).toEqual({ text: 'version 1102' });
  expect(await service.saveArtifact({ ...KEY, artifact: BYTES })).toBe(1103);
  await service.deleteArtifact(KEY);
  expect(await service.listVersions(KEY)).toEqual([]);
  expect(await keysInBucket()).toHaveLength(1);
  expect(await service.saveArtifact({ ...KEY, artifact: BYTES })).toBe(1104);
});

test('more names than one R2 list page are listed once each, without deleted ones', async () => {
  // Small pages: the test above has those of R2's own size.
  const pageSize = 20;
  const paged: R2ArtifactBucket = {
    head: (key) => bucket.head(key),
    get: (key) => bucket.get(key),
    put: (key, value, write) => bucket.put(key, value, write),
    delete: (keys) => bucket.delete(keys),
    list: ({ limit = pageSize, ...listing }) => bucket.list({ ...listing, limit: Math.min(limit, pageSize) }),
  };
  service = new R2ArtifactService({ bucket: paged, prefix });
  const names = Array.from({ length: 103 }, (_, index) => `name ${index}`);
  await Promise.all(names.map((name) => storeVersion(name, 0)));
  await Promise.all(names.slice(0, pageSize).map((name) => storeVersion(name, 1)));
  // More than a page of what is deleted.
  const deleted = names.slice(0, pageSize + 5);
  await Promise.all(deleted.map((filename) => service.deleteArtifact({ ...KEY, filename })));
  const again = deleted.slice(pageSize);
  await Promise.all(again.map((filename) => service.saveArtifact({ ...KEY, filename, artifact: BYTES })));
  expect(await service.listArtifactKeys(KEY)).toEqual(names.slice(pageSize).sort());
});

test('the number of R2 operations is as documented', async () => {
  const counted: Record<string, number> = {};
  const count = (operation: string): void => void (counted[operation] = (counted[operation] ?? 0) + 1);
  const counting: R2ArtifactBucket = {
    head: (key) => (count('B'), bucket.head(key)),
    get: (key) => (count('B'), bucket.get(key)),
    put: (key, value, write) => (count('A'), bucket.put(key, value, write)),
    delete: (keys) => (count('free'), bucket.delete(keys)),
    list: (listing) => (count('A'), bucket.list(listing)),
  };
  const priced = new R2ArtifactService({ bucket: counting, prefix });
  const priceOf = async (work: Promise<unknown>): Promise<Record<string, number>> => {
    await work;
    const price = { ...counted };
    for (const operation of Object.keys(counted)) delete counted[operation];
    return price;
  };
  for (let version = 0; version < 3; version++) {
    expect(await priceOf(priced.saveArtifact({ ...KEY, artifact: BYTES }))).toEqual({ A: 2, B: 2 });
  }
  expect(await priceOf(priced.loadArtifact(KEY))).toEqual({ A: 1, B: 2 });
  expect(await priceOf(priced.loadArtifact({ ...KEY, version: 0 }))).toEqual({ B: 2 });
  expect(await priceOf(priced.getArtifactVersion(KEY))).toEqual({ A: 1, B: 2 });
  expect(await priceOf(priced.getArtifactVersion({ ...KEY, version: 0 }))).toEqual({ B: 2 });
  expect(await priceOf(priced.listVersions(KEY))).toEqual({ A: 1, B: 1 });
  expect(await priceOf(priced.listArtifactVersions(KEY))).toEqual({ A: 1, B: 1 });
  expect(await priceOf(priced.listArtifactKeys(KEY))).toEqual({ A: 4 });
  expect(await priceOf(priced.deleteArtifact(KEY))).toEqual({ A: 2, B: 1, free: 1 });
  expect(await priceOf(priced.saveArtifact({ ...KEY, artifact: BYTES }))).toEqual({ A: 2, B: 2 });
  expect(await priceOf(priced.listArtifactKeys(KEY))).toEqual({ A: 5 });
  await priced.saveArtifact({ ...KEY, artifact: { text: 'x'.repeat(7000) } });
  await priceOf(Promise.resolve());
  expect(await priceOf(priced.getArtifactVersion(KEY))).toEqual({ A: 1, B: 3 });
  expect(await priceOf(priced.listArtifactVersions(KEY))).toEqual({ A: 1, B: 2 });
  expect(await priceOf(priced.loadArtifact(KEY))).toEqual({ A: 1, B: 2 });
});

test('metadata of any size is stored with bytes and with text', async () => {
  const texts = ['', 'x'.repeat(5700), 'x'.repeat(6000), '名'.repeat(900), '名'.repeat(1100), 'é\ud83d'.repeat(50_000)];
  const artifacts: readonly Part[] = [BYTES, { inlineData: { data: '' } }, { text: '' }, { text: 'two' }];
  let version = 0;
  for (const text of texts) {
    for (const artifact of artifacts) {
      const saved = { customMetadata: { text }, version: version++ };
      expect(await service.saveArtifact({ ...KEY, artifact, customMetadata: { text } })).toBe(saved.version);
      expect(await service.loadArtifact(KEY)).toEqual(artifact);
      expect(await service.getArtifactVersion(KEY)).toMatchObject(saved);
      expect((await service.listArtifactVersions(KEY)).at(-1)).toMatchObject(saved);
    }
  }
});

test('the longest names fit the longest prefix, and a longer prefix is refused', async () => {
  prefix = prefix.padEnd(100, 'p');
  service = new R2ArtifactService({ bucket, prefix });
  const owner = { appName: '€'.repeat(85), userId: 'n'.repeat(256), sessionId: '~'.repeat(256) };
  const names = ['€'.repeat(170), `user:${'%'.repeat(507)}`];
  for (const filename of names) {
    await service.saveArtifact({ ...owner, filename, artifact: BYTES });
    expect(await service.loadArtifact({ ...owner, filename })).toEqual(BYTES);
  }
  expect(await service.listArtifactKeys(owner)).toEqual(names.toSorted());
  for (const filename of names) await service.deleteArtifact({ ...owner, filename });
  expect(await service.listArtifactKeys(owner)).toEqual([]);
  for (const bad of [`${prefix}p`, '€'.repeat(34), '\ud800']) {
    expect(() => new R2ArtifactService({ bucket, prefix: bad })).toThrow(ConfigurationError);
  }
});

test('an impossible version number is not found', async () => {
  await service.saveArtifact({ ...KEY, artifact: BYTES });
  for (const version of [1e-9, -1e-9, 0.5, -1, 9_999_999_999, 1e10, 2 ** 53, -Infinity]) {
    expect(await service.loadArtifact({ ...KEY, version })).toBeUndefined();
    expect(await service.getArtifactVersion({ ...KEY, version })).toBeUndefined();
  }
});

test('services with different prefixes share nothing', async () => {
  const other = new R2ArtifactService({ bucket, prefix: `${prefix}other/` });
  await service.saveArtifact({ ...KEY, artifact: BYTES });
  expect(await other.listArtifactKeys(KEY)).toEqual([]);
  expect(await other.saveArtifact({ ...KEY, artifact: { text: 'other' } })).toBe(0);
  await service.deleteArtifact(KEY);
  expect(await other.loadArtifact(KEY)).toEqual({ text: 'other' });
});
