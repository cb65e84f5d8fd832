import { dirname, join } from 'node:path';
import type { StaticImportEntry } from 'oxc-parser';
import { freeNames } from './code-samples.ts';
import { readModule } from './module-syntax.ts';
import type { SourceFile } from './repository.ts';

/**
 * Matches a block of code that quotes a file of this repository, or a declaration in one: `<!-- quote: path#name -->`.
 */
const QUOTE = /^(<!-- quote: ([^\s#]+)(?:#(\w+))? -->\n```\w*\n)([\s\S]*?)(^```$)/gm;
const QUOTED_PART = /^<!-- quote: ([^\s#]+)#\w+ -->$/gm;
const BLOCK = /^```tsx?\n([\s\S]*?)^```$/gm;
const SPECIFIER = /^(?:import|\} from) .*?'([^']+)';$/gm;
const MARK = /^<!-- quote: .*-->$/gm;

/**
 * Returns a guide with its quotes updated from the quoted files. A quoted declaration gets the imports that it needs, except those that
 * an earlier quote of the same file has, so that readers can paste the quotes of a file in order.
 *
 * @throws TypeError for a mark without a code block after it, and for a declaration that is not in its file
 */
export function withCurrentQuotes(guide: string, read: (path: string) => string): string {
  const quotes = guide.match(QUOTE)?.length ?? 0;
  const marks = guide.match(MARK)?.length ?? 0;
  if (quotes !== marks) throw new TypeError(`${marks - quotes} of ${marks} marks stand before no block of code`);
  const imported = new Map<string, Set<string>>();
  return guide.replace(QUOTE, (_, opening: string, path: string, name: string | undefined, __, closing: string) => {
    const text = read(path);
    if (name === undefined) return opening + text + closing;
    const known = imported.get(path) ?? new Set();
    imported.set(path, known);
    const code = declaration(path, name, text);
    return opening + importsFor(code, { path, text }, known) + code + closing;
  });
}

const LINE_WIDTH = 120;

/**
 * Returns the import statements that a declaration of a file needs, followed by an empty line, and adds their names to `known`; empty
 * without new names. Imports of neighbouring files are included: they tell the reader where a name comes from.
 */
function importsFor(code: string, file: SourceFile, known: Set<string>): string {
  const used = freeNames(code);
  const statements = readModule(file).staticImports.flatMap(({ moduleRequest, entries }) => {
    const needed = entries.filter(({ localName: { value } }) => used.has(value) && !known.has(value));
    for (const { localName } of needed) known.add(localName.value);
    return needed.length === 0 ? [] : [importStatement(moduleRequest.value, needed)];
  });
  return statements.length === 0 ? '' : `${statements.join('\n')}\n\n`;
}

function importStatement(specifier: string, entries: readonly StaticImportEntry[]): string {
  const areTypes = entries.every(({ isType }) => isType);
  const keyword = areTypes ? 'import type' : 'import';
  const namespace = entries.find(({ importName }) => importName.kind === 'NamespaceObject');
  if (namespace) return `${keyword} * as ${namespace.localName.value} from '${specifier}';`;
  const names = entries.map(
    ({ isType, importName, localName }) =>
      (isType && !areTypes ? 'type ' : '') +
      (importName.name === localName.value ? localName.value : `${importName.name} as ${localName.value}`),
  );
  const line = `${keyword} { ${names.join(', ')} } from '${specifier}';`;
  return line.length <= LINE_WIDTH ? line : `${keyword} {\n  ${names.join(',\n  ')},\n} from '${specifier}';`;
}

/**
 * Returns the files that a page quotes in part without a link to the file or to a folder above it. A reader who pastes
 * a part needs the imports and the other declarations of the file.
 */
export function unlinkedQuotes({ path: page, text }: SourceFile): string[] {
  const links = Array.from(text.matchAll(/\]\(([^)\s#]+)/g), ([, link = '']) => join(dirname(page), link));
  const quoted = Array.from(text.matchAll(QUOTED_PART), ([, path = '']) => path);
  return Array.from(new Set(quoted)).filter((path) => !links.some((link) => `${path}/`.startsWith(`${link}/`)));
}

/**
 * Returns the packages that the blocks of a page import and that none of its `npm install` lines has. A reader who
 * follows the page in an empty folder could not run such a block.
 */
export function uninstalledPackages(page: string): string[] {
  const lines = page.match(/npm install [^`\n]*/g) ?? [];
  const installed = new Set(lines.flatMap((line) => line.split(' ')));
  const blocks = Array.from(page.matchAll(BLOCK), ([, code = '']) => code);
  const specifiers = blocks.flatMap((code) => Array.from(code.matchAll(SPECIFIER), ([, specifier = '']) => specifier));
  const packages = specifiers.filter((specifier) => !/^(\.|node:)/.test(specifier)).map(packageOf);
  return Array.from(new Set(packages)).filter((name) => !installed.has(name));
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

/**
 * Returns a top-level declaration of a file: up to the line before the next one that is neither indented nor closes a
 * bracket.
 */
function declaration(path: string, name: string, text: string): string {
  const lines = text.split('\n');
  const start = lines.findIndex((line) =>
    new RegExp(`^(export )?(async )?(const|function|class) ${name}\\b`).test(line),
  );
  if (start < 0) throw new TypeError(`${path} declares no ${name}`);
  const next = lines.findIndex((line, at) => at > start && /^[^\s)\]}`]/.test(line));
  const end = next < 0 ? lines.length : next;
  return `${lines.slice(start, end).join('\n').trimEnd()}\n`;
}
