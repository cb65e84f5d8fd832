import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseModule } from '../structure/module-syntax.ts';
import { installedAdkNames } from './adk-names.ts';

const folder = import.meta.dirname;
const programs = globSync('programs/*.ts', { cwd: folder }).map((file) => basename(file, '.ts'));
const exported = new Set(installedAdkNames().map(({ name }) => name));
/** The programs that programs.test.ts ran with both libraries, and compared. */
const compared = Array.from(read('differences.txt').matchAll(/^([\w-]+): /gm), ([, name = '']) => name);

/** A line of a list: a page or sample with its programs or a reason, or `-` and a program with its reason. */
interface Covered {
  readonly path: string;
  readonly programs: readonly string[];
  /** The names of `@google/adk` in the code of the page. */
  readonly names: readonly string[];
  readonly reason?: string;
}

function parseLine(line: string): Covered {
  const [, path = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  const [, program = '', reason] = /^([\w-]+): (.*)$/.exec(rest) ?? [];
  if (reason !== undefined) return { path, programs: program === 'none' ? [] : [program], names: [], reason };
  const [, listed = '', names = ''] = /^([^(]*)(?:\((.*)\))?$/.exec(rest) ?? [];
  return { path, programs: words(listed), names: words(names) };
}

describe.each(['pages-of-adk-docs.txt', 'samples-of-adk-js.txt'])('%s', (file) => {
  const lines = linesOf(file);
  const covered = lines.map(parseLine);

  test('lists each path once, in order', () => {
    expect(lines.length).toBeGreaterThan(10);
    expect(lines).toEqual(lines.toSorted());
    const paths = covered.map(({ path }) => path).filter((path) => path !== '-');
    expect(paths).toEqual([...new Set(paths)]);
  });

  test('names only programs that are run and compared, and gives a reason if it names none', () => {
    const named = covered.flatMap((each) => each.programs);
    expect(named.filter((program) => !programs.includes(program) || !compared.includes(program))).toEqual([]);
    const unexplained = covered.filter(({ path, programs: shown, reason = '' }) =>
      path === '-' || shown.length === 0 ? reason.length < 20 : reason !== '',
    );
    expect(unexplained).toEqual([]);
  });

  test('lists names of @google/adk that the programs of the page import', () => {
    const wrong = covered.flatMap(({ path, programs: shown, names }) => {
      const imported = new Set(shown.flatMap((program) => importedNames(`programs/${program}.ts`)));
      return names.filter((name) => !exported.has(name) || !imported.has(name)).map((name) => `${path}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });
});

test('every page of google/adk-docs that has programs lists names of @google/adk, unless its code is for browsers', () => {
  const pages = linesOf('pages-of-adk-docs.txt').map(parseLine);
  const nameless = pages.filter(
    ({ programs: shown, names, reason }) => !reason && shown.length > 0 && names.length === 0,
  );
  expect(nameless.map(({ path }) => path).filter((path) => !path.startsWith('docs/live/'))).toEqual([]);
});

test('every program is the equivalent of a page or sample, or has a reason', () => {
  const named = new Set(
    ['pages-of-adk-docs.txt', 'samples-of-adk-js.txt'].flatMap(linesOf).flatMap((line) => parseLine(line).programs),
  );
  expect(programs.filter((name) => !named.has(name))).toEqual([]);
});

/** Returns the names of `@google/adk` that a file of this folder imports, or a file of this folder that it imports. */
function importedNames(file: string): string[] {
  const { module } = parseModule({ path: file, text: read(file) });
  return module.staticImports.flatMap(({ moduleRequest: { value: specifier }, entries }) => {
    if (specifier.startsWith('../')) return importedNames(basename(specifier));
    return specifier.startsWith('@google/adk') ? entries.map(({ importName }) => importName.name ?? '') : [];
  });
}

function linesOf(file: string): string[] {
  const lines = read(file).trimEnd().split('\n');
  return lines.filter((line) => !line.startsWith('#'));
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function read(file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}
