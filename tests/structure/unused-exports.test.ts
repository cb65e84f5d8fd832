import { expect, test } from 'vitest';
import { readPackages, readWorkspaces, type Workspace } from './repository.ts';
import { unusedExports } from './unused-exports.ts';

test('a package exports only names that another file imports', () => {
  const users = readWorkspaces().flatMap(({ files }) => files);
  expect(unusedExports(readPackages(), users)).toEqual([]);
});

test('the check finds names that no file imports, although others have the same ones', () => {
  const files = [
    {
      path: 'packages/house/src/door.ts',
      text: 'export interface DoorParams {}\nexport function open(params: DoorParams) {}\nexport const width = 1;\nexport const lock = 2;\nexport const key = 3;',
    },
    { path: 'packages/house/src/index.ts', text: "export { width } from './door.ts';" },
    { path: 'packages/house/src/internal.ts', text: "export { lock, key } from './door.ts';" },
    {
      path: 'packages/house/src/window.ts',
      text: "import { key } from '@eventloom/house/internal';\nconst open = key;\nvoid open;",
    },
  ];
  const house: Workspace = {
    folder: 'packages/house',
    manifest: {
      name: '@eventloom/house',
      version: '0.1.0',
      exports: { '.': './src/index.ts', './internal': './src/internal.ts' },
    },
    files,
  };
  expect(unusedExports([house], files)).toEqual([
    'packages/house/src/door.ts: DoorParams',
    'packages/house/src/door.ts: open',
    'packages/house/src/door.ts: lock',
    'packages/house/src/internal.ts: lock',
  ]);
});
