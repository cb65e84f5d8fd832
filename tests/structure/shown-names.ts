import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freeNames } from './code-samples.ts';
import { exportedNames, parseModule } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/** Maximum number of names that `eventloom` exports: nobody learns more. */
export const MAX_ROOT_NAMES = 150;

/** A name that `eventloom` exports, and the pages whose code shows it. */
export interface ShownName {
  readonly name: string;
  readonly pages: readonly string[];
}

const CODE_BLOCK = /^```ts\n([\s\S]*?)^```$/gm;
const CODE_SPAN = /`([^`\n]+)`/g;

const reader =
  (root: string) =>
  (path: string): SourceFile => ({ path, text: readFileSync(join(root, path), 'utf8') });

/** The entry file of a package, and the pages that may show its names. */
export interface Pages {
  readonly entry: SourceFile;
  readonly pages: readonly SourceFile[];
}

/** Reads the entry file of a package with its README and the guides. */
export function readPackagePages(root: string, folder: string): Pages {
  const read = reader(root);
  const pages = [`${folder}/README.md`, ...globSync('docs/guide/*.md', { cwd: root }).toSorted()];
  return { entry: read(`${folder}/src/index.ts`), pages: pages.map(read) };
}

/**
 * Returns the names of the entry file that no page has, in code blocks or in code spans.
 * @param kind `value` leaves out types, such as those of options, which editors show where they are needed. Default: all names
 */
export function findUnmentioned({ entry, pages }: Pages, kind?: 'value'): string[] {
  const words = new Set<string>();
  for (const { text } of pages) {
    for (const [, code = ''] of text.matchAll(CODE_BLOCK)) addWords(words, code);
    for (const [, span = ''] of text.replace(CODE_BLOCK, '').matchAll(CODE_SPAN)) addWords(words, span);
  }
  return exportedNames(entry)
    .filter((each) => kind === undefined || each.kind === kind)
    .flatMap(({ name }) => (name === undefined || words.has(name) ? [] : [name]));
}

function addWords(words: Set<string>, code: string): void {
  for (const [word] of code.matchAll(/[A-Za-z_$][\w$]*/g)) words.add(word);
}

/** Reads the entry file, the guides, and the examples without their tests. */
export function readPages(root: string): Pages {
  const read = reader(root);
  const paths = globSync(['README.md', 'docs/guide/*.md', 'examples/**/*.ts'], {
    cwd: root,
    exclude: (path) => path.includes('node_modules'),
  });
  const pages = paths.filter((path) => !isTestFile(path)).toSorted();
  return { entry: read('packages/eventloom/src/index.ts'), pages: pages.map(read) };
}

/** Returns each export of the entry file with the guides and examples whose code shows it, in the order of the file. */
export function showNames({ entry, pages }: Pages): ShownName[] {
  const shown = pages.map(({ path, text }) => ({
    path,
    names: path.endsWith('.md') ? namesInCode({ path, text }) : importedFromRoot({ path, text }),
  }));
  return exportedNames(entry).flatMap(({ name }) =>
    name === undefined ? [] : [{ name, pages: shown.filter(({ names }) => names.has(name)).map(({ path }) => path) }],
  );
}

/** Returns the faults of the exports: names that no page shows, and too many names. */
export function findFaults(names: readonly ShownName[]): string[] {
  const unshown = names
    .filter(({ pages }) => pages.length === 0)
    .map(({ name }) => `no code of a guide or an example shows ${name}: show it, or leave it to its own package`);
  if (names.length <= MAX_ROOT_NAMES) return unshown;
  return [...unshown, `eventloom exports ${names.length} names, more than ${MAX_ROOT_NAMES}`];
}

/** Returns the names that the code of a page imports from `eventloom`, or uses without importing them from elsewhere. */
function namesInCode({ path, text }: SourceFile): Set<string> {
  const names = new Set<string>();
  for (const [, code = ''] of text.matchAll(CODE_BLOCK)) {
    for (const name of importedFromRoot({ path: `${path}.ts`, text: code })) names.add(name);
    for (const name of freeNames(code)) names.add(name);
  }
  return names;
}

function importedFromRoot(file: SourceFile): Set<string> {
  const imports = parseModule(file).module.staticImports.filter(
    ({ moduleRequest }) => moduleRequest.value === 'eventloom',
  );
  const names = imports.flatMap(({ entries }) => entries.map(({ importName }) => importName.name ?? ''));
  return new Set(names);
}
