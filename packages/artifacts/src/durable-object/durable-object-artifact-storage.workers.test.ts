import { ConfigurationError, type Part, SizeLimitError } from '@eventloom/core';
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, type DurableObjectStub, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { DurableObjectArtifactDriver } from './durable-object-artifact-driver.ts';
import { DurableObjectArtifactService } from './durable-object-artifact-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session', filename: 'charts/report.bin' };
const BYTES = { inlineData: { mimeType: 'image/png', data: 'AAEC/w==' } };
const MAX_BYTES = 16_777_216;
const platform = new ManualPlatform();

function newObject(): DurableObjectStub {
  return env.STORAGE.get(env.STORAGE.newUniqueId());
}

/** Runs work inside an object, with a service that is made for it. */
function inObject<R>(
  stub: DurableObjectStub,
  work: (service: DurableObjectArtifactService, storage: DurableObjectStorage) => Promise<R>,
): Promise<R> {
  return runInDurableObject(stub, (_instance, { storage }) =>
    work(new DurableObjectArtifactService({ storage, platform }), storage),
  );
}

/** A part of as many bytes, in base64 of no particular content. */
function partOf(bytes: number): Part {
  const whole = 'abcd'.repeat(Math.floor(bytes / 3));
  return { inlineData: { mimeType: 'image/png', data: whole + ['', 'QQ==', 'QUI='][bytes % 3] } };
}

/** The bytes that are left for data beside the record of a part with this metadata. */
function roomFor(customMetadata: Record<string, unknown>): number {
  const part = { inlineData: { mimeType: 'image/png', data: '' } };
  const record = { part, mimeType: 'image/png', createTime: platform.now() / 1000, customMetadata };
  return MAX_BYTES - new TextEncoder().encode(JSON.stringify(record)).length;
}

function countPieces({ sql }: DurableObjectStorage): unknown {
  return sql.exec('SELECT count(*) AS pieces FROM eventloom_artifact_pieces').one()['pieces'];
}

test('an evicted object keeps its artifacts, and version numbers continue after a delete', async () => {
  const stub = newObject();
  const user = { ...KEY, filename: 'user:profile' };
  await inObject(stub, async (service) => {
    await service.saveArtifact({ ...KEY, artifact: { text: 'zero' } });
    await service.saveArtifact({ ...KEY, artifact: BYTES, customMetadata: { by: 'me' } });
    await service.saveArtifact({ ...user, artifact: BYTES });
    await service.deleteArtifact(user);
  });
  await evictDurableObject(stub);
  await inObject(stub, async (service) => {
    expect(await service.listArtifactKeys(KEY)).toEqual([KEY.filename]);
    expect(await service.listVersions(KEY)).toEqual([0, 1]);
    expect(await service.loadArtifact(KEY)).toEqual(BYTES);
    expect(await service.getArtifactVersion(KEY)).toMatchObject({ version: 1, customMetadata: { by: 'me' } });
    expect(await service.saveArtifact({ ...user, artifact: BYTES })).toBe(1);
  });
});

test('an artifact of the maximum size is stored, and a larger one is refused and changes nothing', () =>
  inObject(newObject(), async (service, storage) => {
    const customMetadata = { note: '名前' };
    const room = roomFor(customMetadata);
    for (const filename of ['fits.bin', 'user:fits.bin']) {
      const key = { ...KEY, filename };
      const largest = partOf(room);
      expect(await service.saveArtifact({ ...key, artifact: largest, customMetadata })).toBe(0);
      const pieces = countPieces(storage);
      await service.checkSave({ ...key, artifact: largest, customMetadata });
      const check = service.checkSave({ ...key, artifact: partOf(room + 1), customMetadata });
      await expect(check).rejects.toThrow(SizeLimitError);
      const save = service.saveArtifact({ ...key, artifact: partOf(room + 1), customMetadata });
      await expect(save).rejects.toThrow(SizeLimitError);
      await expect(save).rejects.toThrow(`"${filename}" takes ${MAX_BYTES + 1} bytes, and at most ${MAX_BYTES} `);
      const text = service.saveArtifact({ ...key, artifact: { text: '€'.repeat(MAX_BYTES / 3) } });
      await expect(text).rejects.toThrow(SizeLimitError);
      expect(countPieces(storage)).toBe(pieces);
      const loaded = await service.loadArtifact(key);
      expect(loaded?.inlineData?.data === largest.inlineData?.data).toBe(true);
      expect(await service.saveArtifact({ ...key, artifact: BYTES })).toBe(1);
    }
  }));

test("no row exceeds the platform's limit", () =>
  inObject(newObject(), async (service, { sql }) => {
    const customMetadata = { note: '€'.repeat(1_500_000) };
    for (const size of [0, 1, 1_048_575, 1_048_576, 1_048_577, 3 * 1_048_576]) {
      const artifact = partOf(size);
      await service.saveArtifact({ ...KEY, artifact, customMetadata });
      expect((await service.loadArtifact(KEY))?.inlineData?.data === artifact.inlineData?.data).toBe(true);
    }
    const known = await service.getArtifactVersion(KEY);
    expect(known?.customMetadata?.['note'] === customMetadata.note).toBe(true);
    const { longest } = sql.exec('SELECT max(length(bytes)) AS longest FROM eventloom_artifact_pieces').one();
    expect(longest).toBe(1_048_576);
  }));

test('empty bytes are distinguished from a part without bytes', () =>
  runInDurableObject(newObject(), (_instance, { storage }) => {
    const driver = new DurableObjectArtifactDriver(storage);
    const place = { ...KEY, name: 'empty' };
    const record = { part: {}, mimeType: 'image/png', createTime: 1 };
    for (const data of ['', undefined, 'AA==']) {
      const version = driver.save(place, { record, data });
      expect(driver.read(place, { version, withData: true })).toEqual({ record, data, version });
    }
  }));

test('deleting a name removes all pieces of all its versions only', () =>
  inObject(newObject(), async (service, storage) => {
    const other = { ...KEY, filename: 'other' };
    await service.saveArtifact({ ...other, artifact: BYTES });
    const before = countPieces(storage);
    for (let version = 0; version < 1200; version++) {
      expect(await service.saveArtifact({ ...KEY, artifact: BYTES })).toBe(version);
    }
    expect(await service.listVersions(KEY)).toHaveLength(1200);
    await service.deleteArtifact(KEY);
    expect(countPieces(storage)).toBe(before);
    expect(await service.loadArtifact(other)).toEqual(BYTES);
    expect(await service.saveArtifact({ ...KEY, artifact: BYTES })).toBe(1200);
  }));

test('a save that fails between two rows stores nothing and uses no version number', () =>
  inObject(newObject(), async (service, storage) => {
    await service.saveArtifact({ ...KEY, artifact: BYTES });
    const before = countPieces(storage);
    storage.sql.exec(`CREATE TRIGGER full BEFORE INSERT ON eventloom_artifact_pieces WHEN NEW.ordinal = 1
      BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`);
    const save = service.saveArtifact({ ...KEY, artifact: partOf(2_000_000) });
    await expect(save).rejects.toThrow('the disk is full');
    const first = service.saveArtifact({ ...KEY, filename: 'new', artifact: partOf(2_000_000) });
    await expect(first).rejects.toThrow('the disk is full');
    expect(countPieces(storage)).toBe(before);
    storage.sql.exec('DROP TRIGGER full');
    expect(await service.listArtifactKeys(KEY)).toEqual([KEY.filename]);
    expect(await service.saveArtifact({ ...KEY, artifact: BYTES })).toBe(1);
    expect(await service.saveArtifact({ ...KEY, filename: 'new', artifact: BYTES })).toBe(0);
  }));

test('an object of a newer version is refused and not changed', () =>
  inObject(newObject(), async (_service, storage) => {
    storage.sql.exec("UPDATE eventloom_meta SET value = 99 WHERE key = 'artifacts.schema'");
    expect(() => new DurableObjectArtifactService({ storage })).toThrow(ConfigurationError);
    expect(() => new DurableObjectArtifactService({ storage })).toThrow(/version 99/);
    const version = storage.sql.exec("SELECT value FROM eventloom_meta WHERE key = 'artifacts.schema'").one();
    expect(version['value']).toBe(99);
  }));

test('other tables of the object are not touched, session tables included', async () => {
  const stub = newObject();
  await runInDurableObject(stub, (_instance, { storage }) => {
    storage.sql.exec(`CREATE TABLE mine (id INTEGER PRIMARY KEY); INSERT INTO mine VALUES (7);
      CREATE TABLE eventloom_meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO eventloom_meta VALUES ('sessions.schema', 2)`);
  });
  await inObject(stub, async (service, { sql }) => {
    await service.saveArtifact({ ...KEY, artifact: BYTES });
    await service.deleteArtifact(KEY);
    expect(sql.exec('SELECT id FROM mine').toArray()).toEqual([{ id: 7 }]);
    expect(sql.exec('SELECT key, value FROM eventloom_meta').toArray()).toEqual([
      { key: 'artifacts.schema', value: 1 },
      { key: 'sessions.schema', value: 2 },
    ]);
  });
});
