import { describe, expect, test } from 'vitest';
import { exportKeyChanges, misplacedEntries, pinnedKeys } from './export-keys.ts';
import { readPackages, type Workspace } from './repository.ts';

const sample = (exports: Record<string, string>, paths: string[] = []): Workspace => ({
  folder: 'packages/sample',
  manifest: { version: '0.1.0', name: '@eventloom/sample', exports },
  files: paths.map((path) => ({ path: `packages/sample/${path}`, text: '' })),
});

describe('this repository', () => {
  test('exports the pinned keys', () => {
    expect(exportKeyChanges(readPackages(), pinnedKeys)).toEqual([]);
  });

  test('exports each entry under its pinned key', () => {
    expect(misplacedEntries(readPackages())).toEqual([]);
  });
});

describe('the rules', () => {
  test('report a key that is not pinned', () => {
    const packages = [sample({ '.': './src/index.ts', './extra': './src/extra/index.ts' })];
    expect(exportKeyChanges(packages, { '@eventloom/sample': ['.'] })).toEqual([
      '@eventloom/sample exports ./extra, not pinned',
    ]);
  });

  test('report every key of a package that is not pinned', () => {
    expect(exportKeyChanges([sample({ '.': './src/index.ts' })], {})).toEqual([
      '@eventloom/sample exports ., not pinned',
    ]);
  });

  test('report a pinned key that was removed', () => {
    expect(exportKeyChanges([sample({})], { '@eventloom/sample': ['.'] })).toEqual([
      '@eventloom/sample lost its export .',
    ]);
  });

  test('report an entry at another place', () => {
    expect(misplacedEntries([sample({ './fs': './src/fs.ts' }, ['src/fs.ts'])])).toEqual([
      '@eventloom/sample: ./fs is ./src/fs.ts, not ./src/fs/index.ts',
    ]);
  });

  test('report a WebAssembly module at another place', () => {
    expect(misplacedEntries([sample({ './a.wasm': './src/a.wasm', './b.wasm': './src/c.wasm' })])).toEqual([
      '@eventloom/sample: ./b.wasm is ./src/c.wasm',
    ]);
  });

  test('report an entry that is missing', () => {
    expect(misplacedEntries([sample({ '.': './src/index.ts' })])).toEqual([
      '@eventloom/sample: ./src/index.ts is missing',
    ]);
  });
});
