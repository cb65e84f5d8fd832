import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FileArtifactService } from './file-artifact-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session', filename: 'shared.bin' };
let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'eventloom-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The versions that a process saved; it is killed with SIGKILL after `killAfter` of them. */
async function save(name: string, count: number, killAfter = Infinity): Promise<number[]> {
  const program = fileURLToPath(new URL('./fixtures/saving-process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, folder, name, String(count)], {
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
