import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { describe, expect, test } from 'vitest';
import { readPackages } from '../structure/repository.ts';
import { tarballPath } from './tarball-path.ts';

const run = promisify(execFile);
const packages = readPackages().map(({ manifest }) => manifest);

test('there are packages', () => {
  expect(packages.length).toBeGreaterThan(0);
});

describe.for(packages)('the tarball of $name', (manifest) => {
  test('has the build and the licence, and no sources and tests', async () => {
    const { stdout } = await run('tar', ['-tzf', tarballPath(manifest)]);
    const files = stdout
      .trim()
      .split('\n')
      .map((file) => file.replace('package/', ''));
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'package.json', 'dist/index.js', 'dist/index.d.ts']));
    expect(files.filter((file) => !/^(dist\/|LICENSE$|README\.md$|package\.json$)/.test(file))).toEqual([]);
    expect(files.filter((file) => file.includes('.test'))).toEqual([]);
  });

  test('depends on versions, not on the workspace', async () => {
    const { stdout } = await run('tar', ['-xzOf', tarballPath(manifest), 'package/package.json']);
    expect(stdout).not.toContain('workspace:');
    expect(stdout).not.toContain('./src/');
  });

  test('has no member in its declarations that is marked @internal', async () => {
    const { stdout } = await run('tar', ['-xzOf', tarballPath(manifest), '--wildcards', '*.d.ts'], {
      maxBuffer: 2 ** 26,
    });
    expect(stdout).not.toContain('@internal');
  });

  test('passes publint', async () => {
    const tarball = await readFile(tarballPath(manifest));
    const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
  });

  test('has types that resolve for ESM users', async () => {
    const tarball = await readFile(tarballPath(manifest));
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
    if (!result.types) throw new Error(`${manifest.name} has no types`);
    // These module resolutions find no ES modules.
    const others = ['node10', 'node16-cjs'];
    const problems = result.problems.filter(
      (found) => !('resolutionKind' in found) || !others.includes(found.resolutionKind),
    );
    expect(problems).toEqual([]);
  });
});
