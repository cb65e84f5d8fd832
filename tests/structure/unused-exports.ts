import { exportedNames } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/**
 * Returns the exports that no other file names, as `path: name`. Entry files are not checked: programs and other packages import from them.
 *
 * @param files the sources whose exports are checked
 * @param users all files that may use them, tests included
 */
export function unusedExports(files: readonly SourceFile[], users: readonly SourceFile[]): string[] {
  const filesByName = new Map<string, number>();
  for (const { text } of users)
    for (const name of new Set(text.match(/[\w$]+/g))) filesByName.set(name, (filesByName.get(name) ?? 0) + 1);
  return files
    .filter(({ path }) => !isTestFile(path) && !path.endsWith('/index.ts'))
    .flatMap((file) =>
      exportedNames(file)
        .filter(({ name, from }) => name !== undefined && from === undefined && (filesByName.get(name) ?? 0) <= 1)
        .map(({ name }) => `${file.path}: ${name}`),
    );
}
