import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findDeclaration } from './declarations.ts';
import {
  ambiguousNames,
  nameIndex,
  namesInTable,
  readEntries,
  readMemberSections,
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
const sections = readMemberSections(entries, packages);

test.each([...entries])('the reference of %s is current (after a change: pnpm docs:update)', async (page, list) => {
  const shown = page === 'eventloom' ? showNames(readPages(root)) : [];
  const pagesOf = new Map(shown.map(({ name, pages }) => [name, pages]));
  const title = list[0]?.specifier ?? page;
  const text = referencePage({ page, title, entries: list, sections, pagesOf: (name) => pagesOf.get(name) ?? [] });
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

test('each link to members leads to one heading, also from the guides', () => {
  const read = (path: string): string => readFileSync(join(root, 'docs', path), 'utf8');
  const ids = new Map(
    [...entries.keys()].map((page) => {
      const headings = read(`reference/${page}.md`).matchAll(/^#+ (.*)$/gm);
      return [page, Array.from(headings, ([, title = '']) => toId(title))];
    }),
  );
  const wrong = globSync(['reference/*.md', 'guide/*.md'], { cwd: join(root, 'docs') }).flatMap((path) => {
    const links = path.startsWith('guide')
      ? read(path).matchAll(/\]\(\.\.\/reference\/([\w-]+)\.md#([^)]*)\)/g)
      : read(path).matchAll(/\]\((?:([\w-]+)\.md)?#([^)]*)\)/g);
    return Array.from(links).flatMap(([link, page = basename(path, '.md'), id]) =>
      ids.get(page)?.filter((heading) => heading === id).length === 1 ? [] : [`${path}: ${link}`],
    );
  });
  expect(wrong).toEqual([]);
});

/** Returns the id that GitHub gives a heading. */
function toId(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

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
    expect(pageOf(workspace)).toContain('- `b`: the same as `const a = 1` Says a.');
  });

  const declaredIn = (path: string, summary = '') => {
    const file = { path, text: 'const a = 1;' };
    const declaration = findDeclaration('a', path, [{ ...sample('', ''), files: [file] }]);
    if (!declaration) throw new Error('the file declares a');
    return { specifier: 's', names: [{ name: 'a', group: '', signature: '', summary, declaration }] };
  };

  test('reports a name of a folder that another entry has for something else, unless it says so', () => {
    const twins = (...of: ReturnType<typeof declaredIn>[]) =>
      unexplainedTwins(of, { folder: 'packages/adk', explanations: ['@google/adk'] });
    expect(twins(declaredIn('packages/adk/a.ts', 'Runs.'), declaredIn('packages/a/a.ts', 'Runs.'))).toEqual(['a']);
    expect(twins(declaredIn('packages/adk/a.ts', 'For @google/adk.'), declaredIn('packages/a/a.ts'))).toEqual([]);
    expect(twins(declaredIn('packages/adk/a.ts', 'Runs.'))).toEqual([]);
  });

  test('reports a name with two declarations, and not one that is exported twice', () => {
    expect(ambiguousNames([declaredIn('one.ts'), declaredIn('two.ts')])).toEqual(['a: one.ts, two.ts']);
    expect(ambiguousNames([declaredIn('one.ts'), declaredIn('one.ts')])).toEqual([]);
  });
});

describe('the members of a name', () => {
  /** Returns the section of `A`, which the entry exports with the names in `others`. */
  const membersOf = (source: string, others = ''): string[] => {
    const page = pageOf(sample(`export { A${others} } from './a.ts';`, source));
    const [, section = ''] = page.split(/\n### \w+ A\n\n/);
    return section.split('\n\n')[0]?.trimEnd().split('\n') ?? [];
  };

  test('are linked from the line of the name', () => {
    const page = pageOf(
      sample("export { A } from './a.ts';", '/** Options. */\nexport interface A {\n  b: string;\n}'),
    );
    expect(page).toContain(
      '- `interface A` Options. [Members](#interface-a).\n\n## Members\n\n### interface A\n\n- `b: string`\n',
    );
  });

  test('of an interface have the type, and the first paragraph of the docstring with the default', () => {
    const docstring = '/**\n   * Time in\n   * milliseconds. At most a day. Default 5.\n   *\n   * More.\n   */';
    expect(membersOf(`export interface A {\n  ${docstring}\n  readonly b?: number | undefined;\n}`)).toEqual([
      '- `b?: number` Time in milliseconds. At most a day. Default 5.',
    ]);
  });

  test.each([
    ['b: C | undefined', 'b: C | undefined'],
    ['b(c: C): void', 'b(c: C): void'],
    ['b?<T>(c: T): void', 'b?<T>(c: T): void'],
    ['[key: string]: C', '[key: string]: C'],
    ['readonly [Symbol.iterator]: C', '[Symbol.iterator]: C'],
    [`b: '${'c'.repeat(99)}'`, `b: '${'c'.repeat(77)}…`],
    [`b(c: '${'c'.repeat(60)}', ...d: D[]): void`, 'b(c, ...d): void'],
    ['b: { // C\n    c: C;\n    d: D }', 'b: { c: C; d: D }'],
  ])('show %j as %j', (source, signature) => {
    expect(membersOf(`export interface A {\n  ${source};\n}`)).toEqual([`- \`${signature}\``]);
  });

  test('of an object type, an intersection and a long union are shown', () => {
    expect(membersOf('export type A = { b: C } & { d: D };')).toEqual(['- `b: C`', '- `d: D`']);
    const long = 'b'.repeat(160);
    expect(membersOf(`export type A =\n  /** B. */\n  | { b: '${long}' }\n  | C;`)).toEqual([
      `- \`{ b: '${'b'.repeat(154)}…\` B.`,
      '- `C`',
    ]);
  });

  test('of a class are its public ones, each once', () => {
    const source = [
      'export class A {',
      "  static readonly code = 'A';",
      '  #b = 1;',
      '  private c = 1;',
      '  /** @internal */\n  d = 1;',
      "  ['~e'] = 1;",
      '  readonly f: F;',
      '  protected g(): void {}',
      '  get h(): H { return 1; }',
      '  set h(value: H) {}',
      '  /** First. */\n  i(j: 1): 1;',
      '  /** Second. */\n  i(j: 2): 2;',
      '  i(j: number): number { return j; }',
      '  async *k(): AsyncGenerator<K> {}',
      '  constructor() {}',
      '  static {}',
      '}',
    ].join('\n');
    expect(membersOf(source)).toEqual([
      "- `static code = 'A'`",
      '- `f: F`',
      '- `protected g(): void`',
      '- `h: H`',
      '- `i(j: 1): 1` First.',
      '- `k(): AsyncGenerator<K>`',
    ]);
  });

  test('of a base are linked if the base is public, and listed otherwise', () => {
    const base = 'export interface B {\n  /** B. */\n  b: string;\n}\n';
    expect(membersOf(`${base}export interface A extends B {\n  a: string;\n}`, ', B')).toEqual([
      '- `a: string`',
      '- All of [`B`](#interface-b)',
    ]);
    expect(membersOf(`${base}export interface A extends B {\n  a: string;\n}`)).toEqual([
      '- `a: string`',
      '- `b: string` B.',
    ]);
    expect(membersOf(`${base}export interface A extends Omit<B, 'c'> {}`, ', B')).toEqual([
      "- All of [`Omit<B, 'c'>`](#interface-b)",
    ]);
    expect(membersOf(`${base}export interface A extends Omit<B, 'c'> {}`)).toEqual(["- All of `Omit<B, 'c'>`"]);
  });

  test('of a class are without those that a public base describes', () => {
    const base = 'export class B {\n  /** B. */\n  b(): void {}\n}\n';
    const derived = 'export class A extends B {\n  b(): void {}\n  c(): void {}\n}';
    expect(membersOf(base + derived, ', B')).toEqual(['- `c(): void`', '- All of [`B`](#class-b)']);
    expect(membersOf(base + derived)).toEqual(['- `b(): void` B.', '- `c(): void`']);
  });

  test('have the docstring of the interface that the class implements', () => {
    const source =
      'export class C {\n  c: string;\n}\nexport interface B {\n  /** B. */\n  b(): void;\n}\nexport class A extends C implements B {\n  b(): void {}\n}';
    expect(membersOf(source, ', B, C')).toEqual(['- `b(): void` B.', '- All of [`C`](#class-c)']);
  });

  test('are on the page of the package that declares them, to which other pages link', () => {
    const source = '/** Options. */\nexport interface A {\n  b: string;\n}';
    const own = sample("export { A } from './a.ts';", source);
    const other: Workspace = {
      folder: 'packages/another',
      manifest: { version: '0.1.0', name: 'another', exports: { '.': './src/index.ts' } },
      files: [{ path: 'packages/another/src/index.ts', text: "export { A as B } from '@eventloom/sample';" }],
    };
    const page = pageOf(other, [other, own]);
    expect(page).toContain('- `B`: the same as `interface A` Options. [Members](sample.md#interface-a).\n');
    expect(page).not.toContain('## Members');
    expect(pageOf(own, [other, own])).toContain('### interface A\n');
  });

  test('cannot break the page: backquotes and HTML are escaped', () => {
    const source = 'export interface A {\n  /** A Map<string, `Set<string>`> | {b}. */\n  b: `c-${string}`;\n}';
    expect(membersOf(source)).toEqual(['- `` b: `c-${string}` `` A Map\\<string, `Set<string>`> | {b}.']);
  });
});

function sample(index: string, source: string): Workspace {
  return {
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
  };
}

/** Returns the page of a package. */
function pageOf(workspace: Workspace, workspaces: readonly Workspace[] = [workspace]): string {
  const pages = new Map(
    workspaces.map((each) => [each.folder.replace('packages/', ''), readEntries(each, workspaces)] as const),
  );
  const page = workspace.folder.replace('packages/', '');
  const list = pages.get(page) ?? [];
  return referencePage({ page, title: page, entries: list, sections: readMemberSections(pages, workspaces) });
}
