import { dirname, join } from 'node:path';
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
 * Returns a guide with its quotes updated from the quoted files.
 *
 * @throws TypeError for a mark without a code block after it, and for a declaration that is not in its file
 */
export function withCurrentQuotes(guide: string, read: (path: string) => string): string {
  const quotes = guide.match(QUOTE)?.length ?? 0;
  const marks = guide.match(MARK)?.length ?? 0;
  if (quotes !== marks) throw new TypeError(`${marks - quotes} of ${marks} marks stand before no block of code`);
  return guide.replace(
    QUOTE,
    (_, opening: string, path: string, name: string | undefined, __, closing: string) =>
      opening + (name === undefined ? read(path) : declaration(path, name, read(path))) + closing,
  );
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
