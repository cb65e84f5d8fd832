import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isTestFile, type SourceFile } from './repository.ts';
import { findFaults, MAX_ROOT_NAMES, showNames, shownNamesPage } from './shown-names.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string): SourceFile => ({ path, text: readFileSync(join(root, path), 'utf8') });
const pages = globSync(['README.md', 'docs/guide/*.md', 'examples/**/*.ts'], {
  cwd: root,
  exclude: (path) => path.includes('node_modules'),
})
  .filter((path) => !isTestFile(path))
  .toSorted()
  .map(read);

const names = showNames(read('packages/eventloom/src/index.ts'), pages);

test('eventloom exports few names, each shown in a guide or an example', () => {
  expect(names.length).toBeGreaterThan(100);
  expect(findFaults(names)).toEqual([]);
});

test('the page of eventloom lists them (after a change: pnpm docs:update)', async () => {
  await expect(shownNamesPage(names)).toMatchFileSnapshot(join(root, 'docs/reference/eventloom.md'));
});

describe('a name of eventloom', () => {
  const entry = (...names: string[]): SourceFile => ({
    path: 'index.ts',
    text: `export { ${names.join(', ')} } from './a';`,
  });
  const show = (path: string, text: string) => showNames(entry('Runner'), [{ path, text }])[0]?.pages;

  test.each([
    ['a guide with a code span', 'a.md', 'A `Runner` runs.'],
    ['a guide with a call in a code span', 'a.md', 'Write `new Runner({ agent })`.'],
    ['a guide with a member in a code span', 'a.md', 'Call `Runner.run`.'],
    ['a guide whose code imports it', 'a.md', "```ts\nimport { Runner } from 'eventloom';\n```\n"],
    ['an example that imports it', 'a.ts', "import { type Runner } from 'eventloom';"],
  ])('is shown by %s', (_title, path, text) => {
    expect(show(path, text)).toEqual([path]);
  });

  test.each([
    ['a guide in prose', 'a.md', 'A Runner runs.'],
    ['a guide in a command', 'a.md', '`Runner main.ts`'],
    ['an example that imports it from elsewhere', 'a.ts', "import { Runner } from './runner.ts';"],
  ])('is not shown by %s', (_title, path, text) => {
    expect(show(path, text)).toEqual([]);
  });

  test('that no page shows is reported', () => {
    expect(findFaults(showNames(entry('Runner', 'State'), [{ path: 'a.md', text: '`State`' }]))).toEqual([
      'no guide and no example shows Runner: show it, or leave it to its own package',
    ]);
  });

  test('beyond the limit is reported', () => {
    const many = Array.from({ length: MAX_ROOT_NAMES + 1 }, (_, at) => ({ name: `n${at}`, pages: ['a.md'] }));
    expect(findFaults(many)).toEqual([`eventloom exports ${MAX_ROOT_NAMES + 1} names, more than ${MAX_ROOT_NAMES}`]);
    expect(findFaults(many.slice(1))).toEqual([]);
  });
});
