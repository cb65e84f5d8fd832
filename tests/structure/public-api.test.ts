import { describe, expect, test } from 'vitest';
import { passOn, publicApi, starExports } from './public-api.ts';
import { readPackages, type Workspace } from './repository.ts';

const sample = (text: string): Workspace => ({
  folder: 'packages/sample',
  manifest: { version: '0.1.0', name: '@eventloom/sample', exports: { '.': './src/index.ts' } },
  files: [{ path: 'packages/sample/src/index.ts', text }],
});

describe('this repository', () => {
  const filesOf = (packages: readonly Workspace[]) => packages.flatMap((workspace) => workspace.files);

  // First, because the pinned names come from the file that this test writes.
  test('exports all names of @eventloom/adk from eventloom/adk (after a change: pnpm api:update)', async () => {
    const entry = filesOf(readPackages()).find(({ path }) => path === 'packages/adk/src/index.ts');
    const intro =
      '// All names of `@eventloom/adk`, for programs that were written for @google/adk. Written by pnpm api:update.';
    const text = `${intro}\n\n${entry ? passOn(entry, '@eventloom/adk') : ''}`;
    await expect(text).toMatchFileSnapshot('../../packages/eventloom/src/adk/index.ts');
  });

  test('exports the pinned names (after a change on purpose: pnpm api:update)', async () => {
    await expect(publicApi(readPackages())).toMatchFileSnapshot('public-api.txt');
  });

  test('exports nothing with a star', () => {
    expect(starExports(filesOf(readPackages()))).toEqual([]);
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

describe('a module that passes names on', () => {
  const passed = (text: string) => passOn({ path: 'index.ts', text }, '@a/b');

  test('exports types and values by name, under the same tasks', () => {
    const text =
      "// One\nexport type { A } from './a.ts';\nexport { b as c } from './b.ts';\n\n// Two\nexport { d } from './d.ts';\n";
    expect(passed(text)).toBe(
      "// One\nexport type { A } from '@a/b';\nexport { c } from '@a/b';\n\n// Two\nexport { d } from '@a/b';\n",
    );
  });

  test('has one name in a line where they do not fit into one', () => {
    const names = Array.from({ length: 9 }, (_, index) => `${'name'.repeat(4)}${index}`);
    expect(passed(`// One\nexport { ${names.join(', ')} } from './a.ts';\n`)).toBe(
      `// One\nexport {\n${names.map((name) => `  ${name},\n`).join('')}} from '@a/b';\n`,
    );
  });
});

describe('a star export', () => {
  test("is reported in an entry file: export * from './a.ts'", () => {
    expect(starExports([{ path: 'packages/a/src/index.ts', text: "export * from './a.ts';" }])).toEqual([
      'packages/a/src/index.ts',
    ]);
  });

  test('does not include a named namespace export', () => {
    expect(starExports([{ path: 'packages/a/src/index.ts', text: "export * as a from './a.ts';" }])).toEqual([]);
  });
});
