import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  ambiguousNames,
  nameIndex,
  namesInTable,
  readEntries,
  referenceIndex,
  referencePage,
  twinNames,
  unexplainedTwins,
  ungroupedNames,
  withoutSummary,
} from './reference.ts';
import { readPackages, type Workspace } from './repository.ts';
import { readPages, showNames } from './shown-names.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/reference');
const packages = readPackages();
const entries = new Map(
  packages.map((workspace) => [workspace.folder.replace('packages/', ''), readEntries(workspace, packages)]),
);
const all = [...entries.values()].flat();

test.each([...entries])('the reference of %s is current (after a change: pnpm docs:update)', async (page, list) => {
  const shown = page === 'eventloom' ? showNames(readPages(root)) : [];
  const pagesOf = new Map(shown.map(({ name, pages }) => [name, pages]));
  const text = referencePage(list[0]?.specifier ?? page, list, (name) => pagesOf.get(name) ?? []);
  await expect(text).toMatchFileSnapshot(join(folder, `${page}.md`));
});

test('the reference lists all packages and has no page of another one', async () => {
  await expect(referenceIndex(entries)).toMatchFileSnapshot(join(folder, 'README.md'));
  await expect(nameIndex(entries)).toMatchFileSnapshot(join(folder, 'names.md'));
  expect(globSync('*.md', { cwd: folder }).toSorted()).toEqual(
    [...entries.keys()]
      .map((page) => `${page}.md`)
      .concat('README.md', 'names.md')
      .toSorted(),
  );
});

test('every public name has a docstring', () => {
  expect(withoutSummary(all)).toEqual([]);
});

test('the names of a large entry are grouped by task', () => {
  expect(ungroupedNames(all)).toEqual([]);
});

test('a name that @eventloom/adk has for something else says in its first sentence for what it is', () => {
  const explanations = ['@google/adk', 'Not offered'];
  expect(unexplainedTwins(all, { folder: 'packages/adk', explanations })).toEqual([]);
});

test('docs/guide/from-adk.md lists the names that @eventloom/adk and another package have for different things', () => {
  const page = readFileSync(join(root, 'docs/guide/from-adk.md'), 'utf8');
  const listed = namesInTable(page, '## Names that mean two things');
  expect(listed.toSorted()).toEqual(twinNames(all, '@eventloom/adk').toSorted());
});

test('each public name has one meaning, except for names of another library', () => {
  const own = all.filter(({ specifier }) => specifier !== '@eventloom/adk');
  expect(ambiguousNames(own)).toEqual([]);
});

test('the names in the first column of a table are found', () => {
  const page = 'Names:\n\n| name | is |\n|---|---|\n| `a`, `b` | `c` |\n| `d` | e |\n\n| name |\n|---|\n| `f` |\n';
  expect(namesInTable(page, 'Names:')).toEqual(['a', 'b', 'd']);
});

describe('a reference', () => {
  const sample = (index: string, source: string): Workspace => ({
    folder: 'packages/sample',
    manifest: {
      version: '0.1.0',
      name: '@eventloom/sample',
      exports: { '.': './src/index.ts', './internal': './src/a.ts' },
    },
    files: [
      { path: 'packages/sample/src/index.ts', text: index },
      { path: 'packages/sample/src/a.ts', text: source },
    ],
  });
  const namesOf = (index: string, source: string) => {
    const workspace = sample(index, source);
    return readEntries(workspace, [workspace]).flatMap(({ names }) => names);
  };
  const one = (source: string) => namesOf("export { a } from './a.ts';", source)[0];

  test.each([
    ['export function a(b: string): number {\n  return 1;\n}', 'export function'],
    ['export class a extends B {\n  constructor(c: C) {\n    super();\n  }\n}', 'export class'],
  ])('has the signature of %j without its body', (source) => {
    expect(one(source)?.signature).not.toContain('return 1');
    expect(one(source)?.signature).not.toContain('super');
  });

  test.each([
    ['export function a(\n  b: string,\n  c = 1,\n): number {}', 'function a(b: string, c = 1): number'],
    ['export abstract class a<T> extends B<T> {}', 'abstract class a<T> extends B<T>'],
    ['export class a {\n  constructor(b: B) {}\n}', 'class a { constructor(b: B) }'],
    ['export interface a extends B {\n  c: string;\n}', 'interface a extends B'],
    ["export type a = 'b' | 'c';", "type a = 'b' | 'c'"],
    ['export const a = 1;', 'const a = 1'],
    ['export const a: A = new A();', 'const a: A'],
  ])('shows %j as %j', (source, signature) => {
    expect(one(source)?.signature).toBe(signature);
  });

  test('has the first sentence of the docstring', () => {
    expect(one('/**\n * Says a,\n * e.g. A. Then more.\n * @throws B\n */\nexport const a = 1;')?.summary).toBe(
      'Says a, e.g. A.',
    );
  });

  test('puts names under the comment above their export', () => {
    const index =
      "// The file.\n\n// Letters\nexport { a } from './a.ts';\nexport { b } from './a.ts';\n// More\nexport { c } from './a.ts';";
    const names = namesOf(index, 'export const a = 1, b = 2, c = 3;');
    expect(names.map(({ group }) => group)).toEqual(['Letters', 'Letters', 'More']);
  });

  test('finds a name that another entry has for something else', () => {
    const entry = (specifier: string, index: string) => ({
      specifier,
      names: namesOf(index, 'export const a = 1, b = 2;'),
    });
    const own = entry('own', "export { a, b } from './a.ts';");
    expect(twinNames([own, entry('other', "export { a } from './a.ts';")], 'own')).toEqual([]);
    expect(twinNames([own, entry('other', "export { a as b } from './a.ts';")], 'own')).toEqual(['b']);
  });

  test('excludes ./internal', () => {
    const workspace = sample('export const a = 1;', 'export const b = 1;');
    expect(readEntries(workspace, [workspace]).map(({ specifier }) => specifier)).toEqual(['@eventloom/sample']);
  });

  test('reports names without a docstring', () => {
    const workspace = sample("export { a, b } from './a.ts';", '/** A. */\nexport const a = 1;\nexport const b = 1;');
    expect(withoutSummary(readEntries(workspace, [workspace]))).toEqual(['@eventloom/sample: b']);
  });

  test('reports names without a group in an entry of many names', () => {
    const names = Array.from({ length: 21 }, (_, at) => `a${at}`);
    const index = `export const ${names.map((name) => `${name} = 1`).join(', ')};`;
    expect(ungroupedNames([{ specifier: 's', names: namesOf(index, '') }])).toHaveLength(21);
    expect(ungroupedNames([{ specifier: 's', names: namesOf(`// Letters\n${index}`, '') }])).toEqual([]);
  });

  test('names the original of a renamed export', () => {
    const workspace = sample("export { a as b } from './a.ts';", '/** Says a. */\nexport const a = 1;');
    const page = referencePage('sample', readEntries(workspace, [workspace]));
    expect(page).toContain('- `b`: the same as `const a = 1` Says a.');
  });

  test('reports a name of a folder that another entry has for something else, unless it says so', () => {
    const name = { name: 'a', declaredAs: 'a', group: '', signature: '' };
    const entry = (declaredIn: string, summary: string) => ({
      specifier: 's',
      names: [{ ...name, declaredIn, summary }],
    });
    const twins = (...of: ReturnType<typeof entry>[]) =>
      unexplainedTwins(of, { folder: 'packages/adk', explanations: ['@google/adk'] });
    expect(twins(entry('packages/adk/a.ts', 'Runs.'), entry('packages/a/a.ts', 'Runs.'))).toEqual(['a']);
    expect(twins(entry('packages/adk/a.ts', 'For @google/adk.'), entry('packages/a/a.ts', 'Runs.'))).toEqual([]);
    expect(twins(entry('packages/adk/a.ts', 'Runs.'))).toEqual([]);
  });

  test('reports a name with two declarations, and not one that is exported twice', () => {
    const name = { name: 'a', declaredAs: 'a', group: '', signature: '', summary: '' };
    const entry = (declaredIn: string) => ({ specifier: 's', names: [{ ...name, declaredIn }] });
    expect(ambiguousNames([entry('one.ts'), entry('two.ts')])).toEqual(['a: one.ts, two.ts']);
    expect(ambiguousNames([entry('one.ts'), entry('one.ts')])).toEqual([]);
  });
});
