import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const program = join(import.meta.dirname, '../../scripts/build-server.ts');

test.each([
  [['--help'], 0, 'stdout'],
  [['-h'], 0, 'stdout'],
  [['--out', 'folder'], 2, 'stderr'],
  [['folder', 'tarballs', 'more'], 2, 'stderr'],
] as const)('build:server with %j builds nothing and says how it is called', (args, code, output) => {
  const folder = mkdtempSync(join(tmpdir(), 'build-server-'));
  try {
    const ended = spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: 'utf8' });
    expect([ended.status, ended[output]]).toEqual([code, expect.stringContaining('pnpm build:server [folder]')]);
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
