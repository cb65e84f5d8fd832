import { systemPlatform } from '@eventloom/core';
import { env } from 'cloudflare:workers';
import { beforeEach, expect, test } from 'vitest';
import type { R2ArtifactBucket } from './r2-artifact-bucket.ts';
import { R2ArtifactService } from './r2-artifact-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session', filename: 'report.txt' };
const { ARTIFACTS } = env;
const impatient = { ...systemPlatform, schedule: (_delayMs: number, callback: () => void) => (callback(), () => {}) };
let prefix = '';
let service = new R2ArtifactService({ bucket: ARTIFACTS });
beforeEach(() => {
  prefix = `${crypto.randomUUID()}/`;
  service = new R2ArtifactService({ bucket: ARTIFACTS, prefix });
});

/** Another service on the same artifacts, some of whose operations are disturbed. */
function disturbed(changes: Partial<R2ArtifactBucket>): R2ArtifactService {
  const bucket: R2ArtifactBucket = {
    head: (key) => ARTIFACTS.head(key),
    get: (key) => ARTIFACTS.get(key),
    put: (key, value, write) => ARTIFACTS.put(key, value, write),
    delete: (keys) => ARTIFACTS.delete(keys),
    list: (listing) => ARTIFACTS.list(listing),
    ...changes,
  };
  return new R2ArtifactService({ bucket, prefix, platform: impatient });
}

/**
 * Makes a gate that stops the first caller that passes: `reached` resolves when it arrives, `open` lets it continue.
 */
function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const pass = (): Promise<void> => (reached.resolve(), opened.promise);
  return { reached: reached.promise, open: opened.resolve, pass };
}

function save(to: R2ArtifactService, text: string): Promise<number> {
  return to.saveArtifact({ ...KEY, artifact: { text } });
}

async function objectCount(): Promise<number> {
  return (await ARTIFACTS.list({ prefix })).objects.length;
}

/** Expects that no method shows the artifact. */
async function expectGone(versions: readonly number[]): Promise<void> {
  for (const version of versions) expect(await service.loadArtifact({ ...KEY, version })).toBeUndefined();
  for (const version of versions) expect(await service.getArtifactVersion({ ...KEY, version })).toBeUndefined();
  expect(await service.loadArtifact(KEY)).toBeUndefined();
  expect(await service.getArtifactVersion(KEY)).toBeUndefined();
  expect(await service.listVersions(KEY)).toEqual([]);
  expect(await service.listArtifactVersions(KEY)).toEqual([]);
  expect(await service.listArtifactKeys(KEY)).toEqual([]);
}

test('a save paused during other saves and deletes gets an unused number', async () => {
  await save(service, 'zero');
  const { reached, open, pass } = gate();
  const slow = disturbed({
    async list(listing) {
      const page = await ARTIFACTS.list(listing);
      await pass();
      return page;
    },
  });
  const late = save(slow, 'late');
  await reached;
  expect([await save(service, 'one'), await save(service, 'two')]).toEqual([1, 2]);
  await service.deleteArtifact(KEY);
  open();
  expect(await late).toBe(3);
  expect(await service.listVersions(KEY)).toEqual([3]);
  expect(await service.loadArtifact(KEY)).toEqual({ text: 'late' });
  expect(await service.loadArtifact({ ...KEY, version: 1 })).toBeUndefined();
  expect(await objectCount()).toBe(2);
});

test('leftovers of an interrupted save are invisible and removed by the next delete', async () => {
  await save(service, 'zero');
  const listed = gate();
  const stored = gate();
  const ending = disturbed({
    async list(listing) {
      const page = await ARTIFACTS.list(listing);
      await listed.pass();
      return page;
    },
    async put(key, value, write) {
      await ARTIFACTS.put(key, value, write);
      await stored.pass();
      return null;
    },
  });
  const never = save(ending, 'late');
  await listed.reached;
  expect([await save(service, 'one'), await save(service, 'two')]).toEqual([1, 2]);
  await service.deleteArtifact(KEY);
  listed.open();
  await stored.reached;
  expect(await objectCount()).toBe(2);
  await expectGone([0, 1, 2]);
  expect(await save(service, 'three')).toBe(3);
  expect(await service.listVersions(KEY)).toEqual([3]);
  expect((await service.listArtifactVersions(KEY)).map(({ version }) => version)).toEqual([3]);
  await service.deleteArtifact(KEY);
  expect(await objectCount()).toBe(1);
  await expectGone([0, 1, 2, 3]);
  void never;
});

test('an interrupted delete has deleted all versions, and the next one removes leftovers', async () => {
  for (const text of ['zero', 'one', 'two']) await save(service, text);
  const ending = disturbed({ delete: () => Promise.reject(new TypeError('the Worker ends')) });
  await expect(ending.deleteArtifact(KEY)).rejects.toThrow('the Worker ends');
  expect(await objectCount()).toBe(4);
  await expectGone([0, 1, 2]);
  await service.deleteArtifact(KEY);
  expect(await objectCount()).toBe(1);
  await ending.deleteArtifact(KEY);
  expect(await save(service, 'three')).toBe(3);
});

for (const earlier of [0, 1]) {
  test(`a delete that paused removes only the versions it listed, and frees no version number, after ${earlier} other deletes`, async () => {
    for (let round = 0; round < earlier; round++) {
      await save(service, 'earlier');
      await service.deleteArtifact(KEY);
    }
    expect(await save(service, 'zero')).toBe(earlier);
    const { reached, open, pass } = gate();
    const slow = disturbed({
      async put(key, value, write) {
        await pass();
        return ARTIFACTS.put(key, value, write);
      },
    });
    const late = slow.deleteArtifact(KEY);
    await reached;
    expect([await save(service, 'one'), await save(service, 'two')]).toEqual([earlier + 1, earlier + 2]);
    await service.deleteArtifact(KEY);
    open();
    await late;
    await expectGone([0, 1, 2, 3]);
    expect(await save(service, 'three')).toBe(earlier + 3);
  });
}

test('a save during a delete of many pages is kept', async () => {
  for (const text of ['zero', 'one', 'two', 'three', 'four']) await save(service, text);
  let saved: Promise<number> | undefined;
  const paging = disturbed({
    list: (listing) => ARTIFACTS.list({ limit: 2, ...listing }),
    async delete(keys) {
      await ARTIFACTS.delete(keys);
      await (saved ??= save(service, 'five'));
    },
  });
  await paging.deleteArtifact(KEY);
  expect(await saved).toBe(5);
  expect(await service.listVersions(KEY)).toEqual([5]);
  expect(await objectCount()).toBe(2);
});

test('concurrent saves and deletes assign each version number once', async () => {
  const services = [service, disturbed({}), disturbed({})];
  const saved = services.flatMap((each, index) => {
    const saves = Array.from({ length: 6 }, (_, number) => save(each, `${index}.${number}`));
    return [...saves, each.deleteArtifact(KEY), save(each, `${index}.last`)];
  });
  const numbers = (await Promise.all(saved)).filter((version) => version !== undefined);
  expect(numbers).toHaveLength(21);
  expect(new Set(numbers).size).toBe(21);
  const next = await save(service, 'next');
  expect(next).toBeGreaterThan(Math.max(...numbers));
});

test('a save that conflicts is retried five times', async () => {
  let refusals = 5;
  let tries = 0;
  const busy = disturbed({
    async put(key, value, write) {
      tries++;
      if (refusals-- > 0) throw new TypeError('put: Reduce your rate of simultaneous writes. (10058)');
      return ARTIFACTS.put(key, value, write);
    },
  });
  expect(await save(busy, 'zero')).toBe(0);
  expect(tries).toBe(6);
  refusals = Infinity;
  await expect(save(busy, 'one')).rejects.toThrow('(10058)');
  expect(tries).toBe(12);
  expect(await service.listVersions(KEY)).toEqual([0]);
});

test('another R2 error is thrown immediately, and nothing of the save is visible', async () => {
  let tries = 0;
  const broken = disturbed({
    put: () => (tries++, Promise.reject(new TypeError('put: We encountered an internal error. (10001)'))),
  });
  await expect(save(broken, 'zero')).rejects.toThrow('(10001)');
  expect(tries).toBe(1);
  await expectGone([0]);
  expect(await save(service, 'zero')).toBe(0);
});
