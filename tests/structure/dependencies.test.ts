import { describe, expect, test } from 'vitest';
import { wrongVersions, undeclaredImports } from './dependencies.ts';
import { type Manifest, readPackages, readWorkspaces, type Workspace } from './repository.ts';

const sample = (manifest: Partial<Manifest>, files: Record<string, string> = {}): Workspace => ({
  folder: 'packages/sample',
  manifest: { version: '0.1.0', name: '@eventloom/sample', ...manifest },
  files: Object.entries(files).map(([path, text]) => ({ path, text })),
});

describe('this repository', () => {
  test('imports only what the manifest declares', () => {
    expect(undeclaredImports(readWorkspaces())).toEqual([]);
  });

  test('has every file in one workspace only', () => {
    const paths = readWorkspaces().flatMap(({ files }) => files.map(({ path }) => path));
    expect(paths.length).toBe(new Set(paths).size);
  });

  test('does not install a server with eventloom, which many programs use without one', () => {
    const manifests = new Map(readPackages().map(({ manifest }) => [manifest.name, manifest]));
    const installed = new Set(['eventloom']);
    for (const name of installed)
      for (const dependency of Object.keys(manifests.get(name)?.dependencies ?? {})) installed.add(dependency);
    expect(installed).toContain('@eventloom/runner');
    expect(['@eventloom/server', 'hono', 'pg', 'ws'].filter((name) => installed.has(name))).toEqual([]);
  });

  test('pins exact versions, and published packages accept updates of dependencies that face the network', () => {
    expect(wrongVersions(readWorkspaces())).toEqual([]);
  });
});

describe('an import', () => {
  test('of an undeclared package is reported', () => {
    expect(undeclaredImports([sample({}, { 'a.ts': "import { Hono } from 'hono/tiny';" })])).toEqual([
      'a.ts imports hono',
    ]);
  });

  test('of a devDependency is reported in a source and not in a test', () => {
    const files = { 'a.ts': "import 'zod';", 'a.test.ts': "import 'zod';" };
    expect(undeclaredImports([sample({ devDependencies: { zod: '4.6.7' } }, files)])).toEqual(['a.ts imports zod']);
  });

  test('of a dependency, a peer, a neighbour file or a runtime module passes', () => {
    const manifest = { dependencies: { hono: '4.13.19' }, peerDependencies: { zod: '^4' } };
    const text = "import 'hono'; import 'zod'; import './b.ts'; import 'node:fs';";
    expect(undeclaredImports([sample(manifest, { 'a.ts': text })])).toEqual([]);
  });

  test('of a file that differs between runtimes passes when the manifest has it', () => {
    const files = { 'a.ts': "import '#clock';" };
    expect(undeclaredImports([sample({ imports: { '#clock': { default: './src/clock.ts' } } }, files)])).toEqual([]);
    expect(undeclaredImports([sample({}, files)])).toEqual(['a.ts imports #clock']);
  });

  test('of its own package by name passes in a test and not in a source', () => {
    const workspace = sample({}, {});
    const text = `import '${workspace.manifest.name}';`;
    const files = { 'a.test.ts': text, 'a.ts': text };
    expect(undeclaredImports([sample({}, files)])).toEqual([`a.ts imports ${workspace.manifest.name}`]);
  });

  test("of the root's tools passes in a test", () => {
    const root = { ...sample({ devDependencies: { vitest: '5.1.1' } }), folder: '' };
    expect(undeclaredImports([sample({}, { 'a.test.ts': "import 'vitest';" }), root])).toEqual([]);
  });
});

describe('a version', () => {
  test.each(['^4.0.0', '~4.0.0', '*', 'latest', '4', 'workspace:^', 'npm:zod@^3.0.0'])('%s is reported', (version) => {
    expect(wrongVersions([sample({ dependencies: { zod: version } })])).toEqual([`@eventloom/sample: zod@${version}`]);
  });

  test('that is exact, of the workspace or of a peer passes', () => {
    const manifest = {
      dependencies: { zod: '4.6.7', '@eventloom/core': 'workspace:*' },
      devDependencies: { beta: '1.0.0-beta.1', 'zod-3': 'npm:zod@3.25.76' },
      peerDependencies: { zod: '^4' },
    };
    expect(wrongVersions([sample(manifest)])).toEqual([]);
  });

  test.each(['hono', 'jose', 'ws', '@hono/node-server'])(
    'of %s must take updates in a published package only',
    (name) => {
      const pinned = { dependencies: { [name]: '1.2.3' } };
      const open = { dependencies: { [name]: '^1.2.3' } };
      expect(wrongVersions([sample(pinned)])).toEqual([`@eventloom/sample: ${name}@1.2.3`]);
      expect(wrongVersions([sample(open)])).toEqual([]);
      expect(
        wrongVersions([sample({ ...pinned, private: true }), sample({ devDependencies: pinned.dependencies })]),
      ).toEqual([]);
      expect(wrongVersions([sample({ ...open, private: true })])).toEqual([`@eventloom/sample: ${name}@^1.2.3`]);
    },
  );
});
