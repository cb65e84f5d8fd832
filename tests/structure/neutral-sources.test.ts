import { describe, expect, test } from 'vitest';
import { neutralSources, nodeGlobalUses, runtimeImports } from './neutral-sources.ts';
import { nodeOnlyFolders } from './node-only-folders.ts';
import { readPackages } from './repository.ts';

const file = (text: string, path = 'packages/sessions/src/a.ts') => ({ path, text });

describe('the neutral sources of this repository', () => {
  const sources = neutralSources(
    readPackages().flatMap(({ files }) => files),
    nodeOnlyFolders,
  );

  test('exist', () => {
    expect(sources.length).toBeGreaterThan(0);
  });

  test('import nothing of one runtime', () => {
    expect(runtimeImports(sources, nodeOnlyFolders)).toEqual([]);
  });

  test("use none of node's globals", () => {
    expect(nodeGlobalUses(sources)).toEqual([]);
  });
});

test('neutral sources are neither tests nor in a node-only folder', () => {
  const paths = ['src/a.ts', 'src/a.test.ts', 'src/sqlite/a.ts', 'src/sqlite-rows.ts'];
  const files = paths.map((path) => file('', `packages/sessions/${path}`));
  expect(neutralSources(files, nodeOnlyFolders).map(({ path }) => path)).toEqual([
    'packages/sessions/src/a.ts',
    'packages/sessions/src/sqlite-rows.ts',
  ]);
});

describe('an import', () => {
  test.each(['node:fs', 'cloudflare:workers', './sqlite/index.ts', '../src/sqlite/rows.ts'])(
    'of %s is reported',
    (name) => {
      expect(runtimeImports([file(`import '${name}';`)], nodeOnlyFolders)).toEqual([
        `packages/sessions/src/a.ts imports ${name}`,
      ]);
    },
  );

  test('that is dynamic is reported as well', () => {
    expect(runtimeImports([file("await import('node:fs');")], [])).toHaveLength(1);
  });

  test('of a package or a neutral file passes', () => {
    expect(runtimeImports([file("import '@eventloom/core'; import './b.ts';")], nodeOnlyFolders)).toEqual([]);
  });
});

describe('a node global', () => {
  test.each([
    'process.env',
    'Buffer.from(x)',
    'globalThis.process',
    'require(x)',
    'setImmediate(x)',
    'f({ process })',
    'let x: Buffer;',
  ])('is reported in %s', (text) => {
    expect(nodeGlobalUses([file(text)])).toHaveLength(1);
  });

  test.each([
    'queue.process()',
    'const x = { process: 1 };',
    'class A { process() {} }',
    'interface A { process(): void }',
    'for (const process of steps) process(step);',
  ])('does not include a property or a variable of that name: %s', (text) => {
    expect(nodeGlobalUses([file(text)])).toEqual([]);
  });
});
