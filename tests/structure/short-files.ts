import { posix } from 'node:path';
import { importedSpecifiers } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/** Maximum number of lines of a short file. */
const SHORT = 40;
/** An entry of a package, or of its part for one runtime. */
const ENTRY = /\/(?:index|runtime)\.ts$/;

/** Returns the short sources that exactly one other source of these files imports, and no entry file, as `path ← importer`. */
export function shortFilesWithOneCaller(files: readonly SourceFile[]): string[] {
  const sources = files.filter(({ path }) => !isTestFile(path) && !path.includes('/conformance/'));
  const importers = new Map<string, string[]>();
  for (const file of sources)
    for (const specifier of importedSpecifiers(file).filter((each) => each.startsWith('.'))) {
      const path = posix.join(posix.dirname(file.path), specifier);
      importers.set(path, [...(importers.get(path) ?? []), file.path]);
    }
  return sources
    .filter(({ text }) => text.split('\n').length - 1 <= SHORT)
    .flatMap(({ path }) => {
      const [importer, ...others] = importers.get(path) ?? [];
      const isCalledOnce = importer !== undefined && others.length === 0 && !ENTRY.test(importer);
      return isCalledOnce ? `${path} ← ${importer}` : [];
    });
}
