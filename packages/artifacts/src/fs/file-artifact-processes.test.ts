import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileArtifactService } from './file-artifact-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session', filename: 'shared.bin' };
let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'eventloom-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = fileURLToPath(new URL('./fixtures/saving-process.ts', import.meta.url));

/** The versions that a process saved; it is killed with SIGKILL after `killAfter` of them. */
async function save(name: string, count: number, killAfter = Infinity): Promise<number[]> {
  const child = spawn(process.execPath, [PROGRAM, folder, name, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.split('\n').length > killAfter) child.kill('SIGKILL');
  });
  await new Promise((resolve) => child.on('close', resolve));
  return output.split('\n').filter(Boolean).map(Number);
}

/** Returns the text of a version after checking that the version is complete. */
async function contentOf(service: FileArtifactService, version: number): Promise<string | undefined> {
  const part = await service.loadArtifact({ ...KEY, version });
  const text = Buffer.from(part?.inlineData?.data ?? '', 'base64').toString();
  const [first = ''] = text.split(';');
  return text === `${first};`.repeat(20_000) ? first : undefined;
}

test('processes that save one name concurrently get consecutive numbers', async () => {
  const [one, other] = await Promise.all([save('A', 40), save('B', 40)]);
  expect([...one, ...other].sort((a, b) => a - b)).toEqual(Array.from({ length: 80 }, (_, version) => version));
  const service = new FileArtifactService({ rootDir: folder });
  for (const [number, version] of one.entries()) expect(await contentOf(service, version)).toBe(`A ${number}`);
  for (const [number, version] of other.entries()) expect(await contentOf(service, version)).toBe(`B ${number}`);
});

test('kill -9 during saves leaves every acknowledged version, and no partial one', async () => {
  const service = new FileArtifactService({ rootDir: folder });
  let next = 0;
  for (const killAfter of [5, 12, 3]) {
    const saved = await save('A', 100_000, killAfter);
    const versions = await service.listVersions(KEY);
    expect(versions).toEqual(expect.arrayContaining(saved));
    expect(saved[0]).toBeGreaterThanOrEqual(next);
    for (const version of versions) expect(await contentOf(service, version)).toMatch(/^A \d+$/);
    next = (versions.at(-1) ?? -1) + 1;
  }
});

test('a save that the disk refuses keeps none of its bytes', () => {
  // Files of this shell's processes may have 32 blocks, of 512 or 1024 bytes; the artifact has 100,000 bytes.
  const limited = ['-c', 'ulimit -f 32; exec "$@"', 'sh', process.execPath, PROGRAM, folder, 'A', '1'];
  const { status, stderr } = spawnSync('sh', limited, { encoding: 'utf8' });
  expect(stderr).toContain('STORAGE_UNAVAILABLE');
  expect(status).toBe(1);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(entries.map(({ name, parentPath }) => [name, statSync(join(parentPath, name)).size])).toEqual([['0.data', 0]]);
});
