import { isTestFile, type SourceFile } from './repository.ts';

/** Returns the longest sources as `lines path`, longest first. Tests are excluded: a long list of cases is easy to read. */
export function longestFiles(files: readonly SourceFile[], count: number): string[] {
  return files
    .filter(({ path }) => !isTestFile(path))
    .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    .toSorted((a, b) => b.lines - a.lines)
    .slice(0, count)
    .map(({ path, lines }) => `${String(lines).padStart(5)} ${path}`);
}
