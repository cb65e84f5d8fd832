import { expect, test } from 'vitest';
import { readWorkspaces } from './repository.ts';
import { shortFilesWithOneCaller } from './short-files.ts';

/** Short files that stay beside their only caller, with the reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  'apps/node-server/src/program.ts': 'main.ts loads it once the signals have handlers',
  'apps/node-server/src/quiet-warnings.ts': 'main.ts has to import it before anything else',
  'apps/node-server/src/return-memory.ts': 'its test calls it without a server',
  'packages/plugins/src/to-yaml.ts': 'a format of its own, which its test compares with a YAML parser',
  'packages/quickjs/src/node/metering/meter-engine.ts': 'its caller is a script, which a test cannot import',
  'packages/testing/src/seeded-random.ts': 'tests of several packages import it',
};

test('a short file with one caller is part of the caller, or has a reason not to be', () => {
  // Files of the page are left out, because its components, which are .tsx files, import them.
  const sources = readWorkspaces().filter(
    ({ folder }) => /^(packages|apps)\//.test(folder) && folder !== 'apps/studio-page',
  );
  const found = sources.flatMap(({ files }) => shortFilesWithOneCaller(files)).map((line) => line.split(' ')[0]);
  expect(new Set(found)).toEqual(new Set(Object.keys(ALLOWED)));
});

test('a file is found by its only caller, and not by its tests and entry files', () => {
  const file = (path: string, text: string) => ({ path, text });
  const files = [
    file('src/part.ts', 'export const part = 1;'),
    file('src/shown.ts', 'export const shown = 1;'),
    file('src/long.ts', 'export const long = 1;\n'.repeat(41)),
    file('src/caller.ts', "import './part.ts';\nimport './shown.ts';\nimport './long.ts';"),
    file('src/part.test.ts', "import './part.ts';"),
    file('src/index.ts', "export { shown } from './shown.ts';"),
  ];
  expect(shortFilesWithOneCaller(files)).toEqual(['src/part.ts ← src/caller.ts']);
  const index = file('src/index.ts', "export { shown } from './shown.ts';\nexport * from './part.ts';");
  expect(shortFilesWithOneCaller([...files.slice(0, 5), index])).toEqual([]);
});
