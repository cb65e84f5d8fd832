import type { SourceFile } from './repository.ts';

const kebabCase = /^[a-z0-9]+(-[a-z0-9]+)*(\.node|\.workers)?(\.test|\.test-d|\.config|\.d)?\.ts$/;
const sayNothing = /(^|[/.-])(utils?|helpers?|common|misc)([/.-]|$)/;

export function fileNamesNotInKebabCase(files: readonly SourceFile[]): string[] {
  return files.map(({ path }) => path).filter((path) => !kebabCase.test(path.slice(path.lastIndexOf('/') + 1)));
}

/** Returns files and folders with generic names: `utils`, `helpers`, `common`, `misc`, alone or in a compound. */
export function fileNamesThatSayNothing(files: readonly SourceFile[]): string[] {
  return files.map(({ path }) => path).filter((path) => sayNothing.test(path));
}
