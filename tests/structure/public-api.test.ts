import { describe, expect, test } from 'vitest';
import { publicApi, starExports } from './public-api.ts';
import { readPackages, type Workspace } from './repository.ts';

const sample = (text: string): Workspace => ({
  folder: 'packages/sample',
  manifest: { version: '0.1.0', name: '@eventloom/sample', exports: { '.': './src/index.ts' } },
  files: [{ path: 'packages/sample/src/index.ts', text }],
});

describe('this repository', () => {
  test('exports the pinned names (after a change on purpose: pnpm api:update)', async () => {
    await expect(publicApi(readPackages())).toMatchFileSnapshot('public-api.txt');
  });

  test('exports nothing with a star but all names of another package', () => {
    expect(starExports(readPackages().flatMap(({ files }) => files))).toEqual([]);
  });
});

describe('the public API', () => {
  test('lists types and values apart, in order', () => {
    const text = "export { Runner, type Lease } from './runner.ts';\nexport type { Event } from './event.ts';";
    expect(publicApi([sample(text)])).toBe('@eventloom/sample\n  type Event\n  type Lease\n  value Runner\n');
  });

  test('changes with an added name', () => {
    expect(publicApi([sample('export const a = 1;')])).not.toBe(publicApi([sample('export const a = 1, b = 2;')]));
  });

  test('reports a missing entry', () => {
    expect(publicApi([{ ...sample(''), files: [] }])).toContain('missing');
  });
});

describe('a star export', () => {
  test("is reported in an entry file: export * from './a.ts'", () => {
    expect(starExports([{ path: 'packages/a/src/index.ts', text: "export * from './a.ts';" }])).toEqual([
      'packages/a/src/index.ts',
    ]);
  });

  test('may export all names of another package, which are pinned there', () => {
    const text = "export * from '@eventloom/adk';";
    expect(starExports([{ path: 'packages/a/src/index.ts', text }])).toEqual([]);
    expect(publicApi([sample(text)])).toBe('@eventloom/sample\n  all of @eventloom/adk\n');
  });

  test('does not include a named namespace export', () => {
    expect(starExports([{ path: 'packages/a/src/index.ts', text: "export * as a from './a.ts';" }])).toEqual([]);
  });
});
