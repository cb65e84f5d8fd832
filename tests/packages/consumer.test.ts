import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPackages } from '../structure/repository.ts';
import { tarballPath } from './tarball-path.ts';

const run = promisify(execFile);
const installed = ['core', 'llm-agent', 'multi-agent', 'runner', 'sessions', 'tools'];

describe('an empty project that installs an agent runtime from tarballs', () => {
  const project = mkdtempSync(join(tmpdir(), 'eventloom-consumer-'));
  afterAll(() => rmSync(project, { recursive: true }));

  beforeAll(async () => {
    const packages = readPackages().filter(({ folder }) => installed.includes(folder.replace('packages/', '')));
    const tarballs = packages.map(({ manifest }) => [manifest.name, `file:${tarballPath(manifest)}`]);
    const manifest = { private: true, type: 'module', dependencies: Object.fromEntries(tarballs) };
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2024',
      lib: ['es2024', 'dom'],
      types: [],
      strict: true,
      noEmit: true,
    };
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['one-turn.ts'] }));
    copyFileSync(join(import.meta.dirname, 'consumer/one-turn.ts'), join(project, 'one-turn.ts'));
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: project });
  });

  test('installs nothing beyond its dependencies', () => {
    const modules = join(project, 'node_modules');
    expect(readdirSync(modules).filter((name) => !name.startsWith('.'))).toEqual(['@cfworker', '@eventloom']);
    expect(readdirSync(join(modules, '@eventloom'))).toEqual(installed);
  });

  test('type-checks a program, the declarations of the packages included', async () => {
    await expect(run('tsc', ['-p', project])).resolves.toMatchObject({ stdout: '' });
  });

  test('runs one turn', async () => {
    await expect(run('node', ['one-turn.ts'], { cwd: project })).resolves.toMatchObject({ stdout: 'hello\n' });
  });
});
