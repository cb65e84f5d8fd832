import { ConfigurationError, StorageError } from '@eventloom/core';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { artifactPath, decodeName } from './file-artifact-driver.ts';
import { FileArtifactService } from './file-artifact-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session', filename: 'report.bin' };
const BYTES = { inlineData: { mimeType: 'image/png', data: 'AAEC/w==' } };
let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'eventloom-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Paths of all files, below the test's folder. */
function filesBelow(path: string): string[] {
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1));
}

test('artifacts persist for the next process, and version numbers continue after a delete', async () => {
  const rootDir = join(folder, 'not', 'there yet');
  await new FileArtifactService({ rootDir }).saveArtifact({ ...KEY, artifact: BYTES, customMetadata: { by: 'me' } });
  const second = new FileArtifactService({ rootDir });
  expect(await second.loadArtifact(KEY)).toEqual(BYTES);
  expect(await second.getArtifactVersion(KEY)).toMatchObject({ mimeType: 'image/png', customMetadata: { by: 'me' } });
  expect(await second.saveArtifact({ ...KEY, artifact: BYTES })).toBe(1);
  await second.deleteArtifact(KEY);
  const third = new FileArtifactService({ rootDir, durability: 'power' });
  expect(await third.listArtifactKeys(KEY)).toEqual([]);
  expect(await third.saveArtifact({ ...KEY, artifact: BYTES })).toBe(2);
  expect(await third.listVersions(KEY)).toEqual([2]);
});

test('bytes are stored in a plain file', async () => {
  await new FileArtifactService({ rootDir: folder }).saveArtifact({ ...KEY, artifact: BYTES });
  const path = 'app/users/user/sessions/session/artifacts/report.bin/0.data';
  expect(filesBelow(folder)).toContain(path);
  expect([...readFileSync(join(folder, path))]).toEqual([0, 1, 2, 255]);
});

test('folders and files are private to their owner', async () => {
  const rootDir = join(folder, 'root');
  const service = new FileArtifactService({ rootDir });
  await service.saveArtifact({ ...KEY, artifact: BYTES });
  await service.saveArtifact({ ...KEY, filename: 'user:note', artifact: { text: 'no bytes' } });
  const made = readdirSync(rootDir, { recursive: true, withFileTypes: true });
  expect(made.length).toBeGreaterThan(8);
  for (const entry of made) {
    const mode = statSync(join(entry.parentPath, entry.name)).mode & 0o777;
    expect([entry.name, mode]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }
  expect(statSync(rootDir).mode & 0o777).toBe(0o700);
});

test('no name escapes the folder', async () => {
  const rootDir = join(folder, 'root');
  const service = new FileArtifactService({ rootDir });
  const names = ['..', '.', '...', '../..', '/etc', 'C:\\', '%2e%2e', '~'];
  for (const name of names) {
    const key = { appName: name, userId: name, sessionId: name, filename: 'a' };
    await service.saveArtifact({ ...key, artifact: { text: name } });
    await service.saveArtifact({ ...key, filename: 'user:a', artifact: { text: name } });
  }
  expect(readdirSync(folder)).toEqual(['root']);
  expect(filesBelow(folder).length).toBe(names.length * 4);
  for (const name of names) {
    const key = { appName: name, userId: name, sessionId: name };
    expect(await service.listArtifactKeys(key)).toEqual(['a', 'user:a']);
  }
});

test('each name has its own folder, even on file systems that ignore case', () => {
  const names = [
    'a',
    'A',
    'aA',
    '!a',
    '%41',
    'n'.repeat(199),
    'n'.repeat(200),
    'n'.repeat(512),
    'N'.repeat(512),
    'É',
    'é',
    '+',
    'a+',
  ];
  const owner = { appName: 'app', userId: 'user', sessionId: undefined };
  const paths = names.map((name) =>
    artifactPath('/data', { ...owner, name })
      .split('/')
      .slice(6),
  );
  expect(paths.map(decodeName)).toEqual(names);
  expect(new Set(paths.map((path) => path.join('/').toLowerCase())).size).toBe(names.length);
  for (const segment of paths.flat()) expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(255);
});

test('an interrupted save is invisible, and its number is not reused', async () => {
  const service = new FileArtifactService({ rootDir: folder });
  await service.saveArtifact({ ...KEY, artifact: { text: 'zero' } });
  const versions = dirname(join(folder, filesBelow(folder)[0] ?? ''));
  writeFileSync(join(versions, '1.data'), 'half');
  writeFileSync(join(versions, '1.json.tmp'), '{"rec');
  expect(await service.listVersions(KEY)).toEqual([0]);
  expect(await service.loadArtifact(KEY)).toEqual({ text: 'zero' });
  expect(await service.loadArtifact({ ...KEY, version: 1 })).toBeUndefined();
  expect(await service.saveArtifact({ ...KEY, artifact: { text: 'two' } })).toBe(2);
  expect(await service.loadArtifact(KEY)).toEqual({ text: 'two' });
});

test('other files are not touched', async () => {
  const service = new FileArtifactService({ rootDir: folder });
  await service.saveArtifact({ ...KEY, artifact: { text: 'zero' } });
  const artifacts = dirname(dirname(join(folder, filesBelow(folder)[0] ?? '')));
  writeFileSync(join(artifacts, '.DS_Store'), '');
  writeFileSync(join(artifacts, 'report.bin', 'notes.json'), '');
  expect(await service.listArtifactKeys(KEY)).toEqual(['report.bin']);
  expect(await service.listVersions(KEY)).toEqual([0]);
});

test('reads during deletes and saves never return a partial or wrong version', async () => {
  const service = new FileArtifactService({ rootDir: folder });
  for (let round = 0; round < 20; round++) {
    const version = await service.saveArtifact({ ...KEY, artifact: BYTES });
    const [part, next] = await Promise.all([
      service.loadArtifact({ ...KEY, version }),
      service.saveArtifact({ ...KEY, artifact: { text: `${round}` } }),
      service.deleteArtifact(KEY),
    ]);
    expect([BYTES, undefined]).toContainEqual(part);
    expect(next).toBe(version + 1);
    await service.deleteArtifact(KEY);
  }
});

test('the constructor throws without a folder', () => {
  expect(() => new FileArtifactService({ rootDir: '' })).toThrow(ConfigurationError);
});

test('a save to a folder that cannot be written throws StorageError with the reason', async () => {
  const rootDir = join(folder, 'below a file');
  writeFileSync(rootDir, '');
  const service = new FileArtifactService({ rootDir });
  const error: unknown = await service.saveArtifact({ ...KEY, artifact: BYTES }).catch((thrown: unknown) => thrown);
  expect(StorageError.isInstance(error)).toBe(true);
  expect(error).toMatchObject({ cause: { code: 'ENOTDIR' } });
});

test('a save throws StorageError if the file system cannot create the folder', async () => {
  writeFileSync(join(folder, 'file'), '');
  for (const rootDir of ['/proc/eventloom/artifacts', join(folder, 'file', 'artifacts')]) {
    const saved = new FileArtifactService({ rootDir }).saveArtifact({ ...KEY, artifact: BYTES });
    await expect(saved).rejects.toThrow(StorageError);
  }
});
