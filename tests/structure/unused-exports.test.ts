import { expect, test } from 'vitest';
import { readPackages, readWorkspaces } from './repository.ts';
import { unusedExports } from './unused-exports.ts';

test('a package exports only names that another file uses', () => {
  const entries = new Set(readPackages().flatMap(entryFiles));
  const files = readPackages().flatMap((workspace) => workspace.files);
  const users = readWorkspaces().flatMap((workspace) => workspace.files);
  const unused = unusedExports(
    files.filter(({ path }) => !entries.has(path)),
    users,
  );
  expect(unused).toEqual([]);
});

test('the check finds a type and a function that only their own file names', () => {
  const door = {
    path: 'packages/house/src/door.ts',
    text: 'export interface DoorParams {}\nexport function open(params: DoorParams) {}\nexport const width = 1;',
  };
  const house = { path: 'packages/house/src/index.ts', text: "export { width } from './door.ts';" };
  expect(unusedExports([door, house], [door, house])).toEqual([
    'packages/house/src/door.ts: DoorParams',
    'packages/house/src/door.ts: open',
  ]);
});

/** Returns the files that a package's manifest exports or maps to a runtime. */
function entryFiles({ folder, manifest }: ReturnType<typeof readPackages>[number]): string[] {
  const targets = [manifest.exports ?? {}, ...Object.values(manifest.imports ?? {})].flatMap((map) =>
    Object.values(map),
  );
  return targets.filter((target) => typeof target === 'string').map((target) => `${folder}/${target.slice(2)}`);
}
