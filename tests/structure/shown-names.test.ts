import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readPackages, type SourceFile } from './repository.ts';
import { findFaults, findUnmentioned, MAX_ROOT_NAMES, readPackagePages, readPages, showNames } from './shown-names.ts';

test('eventloom exports few names, each shown in the code of a guide or an example', () => {
  const names = showNames(readPages(join(import.meta.dirname, '../..')));
  expect(names.length).toBeGreaterThan(100);
  expect(findFaults(names)).toEqual([]);
});

test('every name of @eventloom/core is in its README or in a guide', () => {
  expect(findUnmentioned(readPackagePages(join(import.meta.dirname, '../..'), 'packages/core'))).toEqual([]);
});

test.each(readPackages().map(({ manifest, folder }) => [manifest.name, folder]))(
  'every class, function and constant of %s is in its README or in a guide',
  (_name, folder) => {
    expect(findUnmentioned(readPackagePages(join(import.meta.dirname, '../..'), folder), 'value')).toEqual([]);
  },
);

test.each([
  ['in a code span', '`new Runner()`', []],
  ['in code', '```ts\nRunner;\n```\n', []],
  ['in prose only', 'A Runner runs.', ['Runner']],
])('a name that a page has %s', (_title, text, unmentioned) => {
  const entry = { path: 'index.ts', text: "export { Runner } from './a';" };
  expect(findUnmentioned({ entry, pages: [{ path: 'README.md', text }] })).toEqual(unmentioned);
});

describe('a name of eventloom', () => {
  const entry = (...names: string[]): SourceFile => ({
    path: 'index.ts',
    text: `export { ${names.join(', ')} } from './a';`,
  });
  const show = (path: string, text: string) => showNames({ entry: entry('Runner'), pages: [{ path, text }] })[0]?.pages;

  test.each([
    ['a guide whose code imports it', 'a.md', "```ts\nimport { Runner } from 'eventloom';\n```\n"],
    ['a guide whose code uses it', 'a.md', '```ts\nnew Runner({ agent });\n```\n'],
    ['a guide whose code has it as a type', 'a.md', '```ts\nconst run = (runner: Runner) => runner;\n```\n'],
    ['an example that imports it', 'a.ts', "import { type Runner } from 'eventloom';"],
  ])('is shown by %s', (_title, path, text) => {
    expect(show(path, text)).toEqual([path]);
  });

  test.each([
    ['a guide in prose', 'a.md', 'A `Runner` runs.'],
    ['a guide whose code imports it from elsewhere', 'a.md', "```ts\nimport { Runner } from './runner.ts';\n```\n"],
    ['a guide whose code declares it', 'a.md', '```ts\nclass Runner {}\nnew Runner();\n```\n'],
    ['a guide whose code has a member of that name', 'a.md', '```ts\na.Runner({ Runner: 1 });\n```\n'],
    ['a guide whose code mentions it in a comment', 'a.md', "```ts\n// Runner\n'Runner';\n```\n"],
    ['a guide in a shell command', 'a.md', '```sh\nRunner main.ts\n```\n'],
    ['an example that imports it from elsewhere', 'a.ts', "import { Runner } from './runner.ts';"],
  ])('is not shown by %s', (_title, path, text) => {
    expect(show(path, text)).toEqual([]);
  });

  test('that no page shows is reported', () => {
    expect(
      findFaults(
        showNames({ entry: entry('Runner', 'State'), pages: [{ path: 'a.md', text: '```ts\nState;\n```\n' }] }),
      ),
    ).toEqual(['no code of a guide or an example shows Runner: show it, or leave it to its own package']);
  });

  test('over the limit is reported', () => {
    const many = Array.from({ length: MAX_ROOT_NAMES + 1 }, (_, at) => ({ name: `n${at}`, pages: ['a.md'] }));
    expect(findFaults(many)).toEqual([`eventloom exports ${MAX_ROOT_NAMES + 1} names, more than ${MAX_ROOT_NAMES}`]);
    expect(findFaults(many.slice(1))).toEqual([]);
  });
});
