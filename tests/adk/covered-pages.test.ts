import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const folder = import.meta.dirname;
const programs = globSync('programs/*.ts', { cwd: folder }).map((file) => basename(file, '.ts'));

/** A line of a list: a page or sample with its programs or a reason, or `-` and a program with its reason. */
interface Covered {
  readonly path: string;
  readonly names: readonly string[];
  readonly reason?: string;
}

function parseLine(line: string): Covered {
  const [, path = '', rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
  const [, name = '', reason] = /^([\w-]+): (.*)$/.exec(rest) ?? [];
  if (reason === undefined) return { path, names: rest.split(/\s+/) };
  return { path, names: name === 'none' ? [] : [name], reason };
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

  test('names only programs that exist, and gives a reason if it names none', () => {
    expect(covered.filter(({ names }) => names.some((name) => !programs.includes(name)))).toEqual([]);
    const unexplained = covered.filter(({ path, names, reason = '' }) =>
      path === '-' || names.length === 0 ? reason.length < 20 : reason !== '',
    );
    expect(unexplained).toEqual([]);
  });
});

test('every program is the equivalent of a page or sample, or has a reason', () => {
  const named = new Set(
    ['pages-of-adk-docs.txt', 'samples-of-adk-js.txt'].flatMap(linesOf).flatMap((line) => parseLine(line).names),
  );
  expect(programs.filter((name) => !named.has(name))).toEqual([]);
});

function linesOf(file: string): string[] {
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
  return lines.filter((line) => !line.startsWith('#'));
}
