import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type CodeSample, type Imports, importsOf, samplesOfPage, samplesOfSource, toModule } from './code-samples.ts';
import { isTestFile, readPackages, type SourceFile, type Workspace } from './repository.ts';

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);
const packages = readPackages();
const readSource = (path: string): SourceFile => ({ path, text: readFileSync(join(root, path), 'utf8') });
const pages = globSync(['README.md', 'docs/guide/*.md', '{packages,examples}/*/README.md', '.changeset/*.md'], {
  cwd: root,
}).map(readSource);

const eventloom = importsOf('eventloom', readSource('packages/eventloom/src/index.ts'));
const surroundings = importsOf(
  '../../structure/sample-surroundings.ts',
  readSource('tests/structure/sample-surroundings.ts'),
);
const zod = ['z', "import * as z from 'zod';"] as const;

/**
 * Names that a block of a page may use without an import: the reader's own. It imports names of packages, because
 * readers paste it.
 */
const forPages: Imports = new Map(surroundings);

/** Names that a block of a guide may use without an import: those that the README lists above the guides. */
const forGuides: Imports = new Map(surroundings.filter(([name]) => ownNames(readSource('README.md').text).has(name)));

function ownNames(readme: string): Set<string> {
  const [, paragraph = ''] = /^## Guides\n\n([\s\S]*?)\n\n/m.exec(readme) ?? [];
  return new Set(Array.from(paragraph.matchAll(/`(\w+)`/g), ([, name = '']) => name));
}

/** Returns names that a docstring may use without an import, including those of `eventloom` and of its package. */
function forSource({ manifest, folder, files }: Workspace): Imports {
  const own = Object.entries(manifest.exports ?? {}).flatMap(([key, source]) => {
    const entry = files.find(({ path }) => path === join(folder, source));
    return entry ? importsOf(`${manifest.name}${key.slice(1)}`, entry) : [];
  });
  return new Map([...surroundings, ...eventloom, zod, ...own.toReversed()]);
}

/** Type-checks samples, each as a separate module, and returns the compiler's messages with their positions in the pages. */
async function compile(modules: readonly { readonly sample: CodeSample; readonly text: string }[]): Promise<string[]> {
  const parent = join(root, 'tests/.tsc');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'samples-'));
  try {
    const files = modules.map(({ text }, index) => {
      writeFileSync(join(folder, `${index}.ts`), text);
      return `${index}.ts`;
    });
    const projects = globSync('packages/*/tsconfig.{src,node,browser}.json', { cwd: root });
    const config = {
      extends: relative(folder, join(root, 'tsconfig.base.json')),
      compilerOptions: {
        types: ['node'],
        rootDir: relative(folder, root),
        noEmit: true,
        composite: false,
        incremental: false,
        declaration: false,
        emitDeclarationOnly: false,
      },
      files: [...files, relative(folder, join(root, 'tests/runtimes/workers/engine-wasm.d.ts'))],
      references: projects.map((path) => ({ path: relative(folder, join(root, path)) })),
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(root, 'node_modules/.bin/tsc');
    const { stdout } = await run(compiler, ['-b', '--pretty', 'false', folder]).catch(
      (error: { stdout: string }) => error,
    );
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.replace(/^.*?(\d+)\.ts\(/, (_, index) => `${modules[Number(index)]?.sample.path}(`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const inPages = pages.flatMap((page) => {
  const importable = page.path.startsWith('docs/guide/') ? forGuides : forPages;
  return samplesOfPage(page).map((sample) => ({ sample, text: toModule(sample, importable) }));
});
const inSources = packages.flatMap((workspace) => {
  const importable = forSource(workspace);
  const sources = workspace.files.filter(({ path }) => !isTestFile(path));
  return sources.flatMap(samplesOfSource).map((sample) => ({ sample, text: toModule(sample, importable) }));
});

test('there are samples in pages and in docstrings', () => {
  expect(inPages.length).toBeGreaterThan(20);
  expect(inSources.length).toBeGreaterThan(20);
});

test('every block of TypeScript in a page or a docstring compiles', async () => {
  expect(await compile([...inPages, ...inSources])).toEqual([]);
});

test('a block of a page that uses a name of eventloom without importing it does not compile', async () => {
  const page = { path: 'docs/guide/a.md', text: '```ts\nnew LlmAgent({ name: agent.name });\n```\n' };
  const modules = samplesOfPage(page).map((sample) => ({ sample, text: toModule(sample, forPages) }));
  expect(await compile(modules)).toEqual(["docs/guide/a.md(2,5): error TS2304: Cannot find name 'LlmAgent'."]);
});

test('the compiler’s messages name the page and the line of a block that does not compile', async () => {
  const page = { path: 'docs/guide/a.md', text: '# A\n\n```ts\nconst one = 1;\nconst two: string = one;\n```\n' };
  const modules = samplesOfPage(page).map((sample) => ({ sample, text: toModule(sample, forPages) }));
  expect(await compile(modules)).toEqual([
    "docs/guide/a.md(5,7): error TS2322: Type 'number' is not assignable to type 'string'.",
  ]);
});

describe('samples', () => {
  const page = (text: string) => samplesOfPage({ path: 'a.md', text });
  const source = (text: string) => samplesOfSource({ path: 'a.ts', text });

  test('of a page are its blocks of TypeScript, with their first lines', () => {
    expect(page('Text\n\n```ts\na;\nb;\n```\n\n```sh\nls\n```\n\n```ts\nc;\n```\n')).toEqual([
      { path: 'a.md', line: 4, code: 'a;\nb;\n' },
      { path: 'a.md', line: 13, code: 'c;\n' },
    ]);
  });

  test('of a page exclude quoted files', () => {
    expect(page('<!-- quote: a.ts -->\n```ts\na;\n```\n')).toEqual([]);
  });

  test('of a source are the examples of its docstrings, up to the next tag', () => {
    const text = '/**\n * Does a.\n *\n * @example\n * a();\n *\n * b();\n * @throws Error\n */\nexport const a = 1;\n';
    expect(source(text)).toEqual([{ path: 'a.ts', line: 5, code: 'a();\n\nb();\n' }]);
  });

  test('of a source are the blocks of code in its docstrings', () => {
    expect(source('class A {\n  /**\n   * Does a:\n   *\n   * ```ts\n   * a();\n   * ```\n   */\n}\n')).toEqual([
      { path: 'a.ts', line: 6, code: 'a();\n' },
    ]);
  });
});

describe('a sample as a module', () => {
  const importable = new Map([
    ['Runner', "import { Runner } from 'eventloom';"],
    ['Event', "import { type Event } from 'eventloom';"],
  ]);
  const moduleOf = (code: string) => toModule({ path: 'a.md', line: 3, code }, importable);

  test('keeps the numbers of its lines', () => {
    expect(moduleOf('a;\n').split('\n')[2]).toBe('a;');
  });

  test.each([
    ['imports a name that it uses', 'new Runner();', true],
    ['imports a name that its types use', 'const runner: Runner = make();', true],
    ['imports no name that it does not use', 'a.Runner;', false],
    ['imports no name twice', "import { Runner } from 'x';\nnew Runner();", false],
    ['imports no name that it declares', 'export class Runner {}', false],
    ['imports no name that it declares as a variable', 'const { Runner } = x;', false],
  ])('%s', (_, code, isImported) => {
    expect(moduleOf(`${code}\n`).includes("import { Runner } from 'eventloom';")).toBe(isImported);
  });
});
