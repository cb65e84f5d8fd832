import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readWorkspaces, type Workspace } from './repository.ts';
import { ambiguousTypes } from './type-names.ts';

test('each type name has one meaning in all packages and apps', () => {
  const workspaces = readWorkspaces().filter(({ folder }) => /^(packages|apps)\//.test(folder));
  expect(ambiguousTypes([...workspaces, studioComponents()])).toEqual([]);
});

/** Returns the components of the page of Studio, which are not TypeScript files of a workspace. */
function studioComponents(): Workspace {
  const root = join(import.meta.dirname, '../..');
  const paths = globSync('apps/studio-page/src/**/*.tsx', { cwd: root });
  const files = paths.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  return { folder: 'apps/studio-page', manifest: { name: '@eventloom/studio-page', version: '0.0.0' }, files };
}

describe('a type name', () => {
  const packageOf = (files: Record<string, string>): Workspace => ({
    folder: 'packages/sample',
    manifest: { version: '0.1.0', name: '@eventloom/sample' },
    files: Object.entries(files).map(([path, text]) => ({ path, text })),
  });

  test.each(['class Call {}', 'export interface Call {}', 'type Call = string;'])(
    'is reported when two files declare it: %s',
    (declaration) => {
      const packages = [packageOf({ 'a.ts': 'export class Call {}' }), packageOf({ 'b.ts': declaration })];
      expect(ambiguousTypes(packages)).toEqual(['Call: a.ts, b.ts']);
    },
  );

  test.each(['b.test.ts', 'fixtures/b.ts', 'src/conformance/b.ts'])('may be declared again in %s', (path) => {
    expect(ambiguousTypes([packageOf({ 'a.ts': 'class Call {}', [`src/${path}`]: 'class Call {}' })])).toEqual([]);
  });

  test('may be imported and exported again', () => {
    const files = { 'a.ts': 'export class Call {}', 'b.ts': "import { Call } from './a.ts';\nexport { Call };" };
    expect(ambiguousTypes([packageOf(files)])).toEqual([]);
  });
});
