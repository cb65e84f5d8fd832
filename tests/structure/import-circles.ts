import { dirname, join } from 'node:path/posix';
import { importedSpecifiers } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/**
 * Returns the groups of files in which every file imports every other one, directly or through further files of the group: values
 * or types, which the linter's rule for cycles leaves out. Largest group first, paths sorted; without tests and conformance suites.
 */
export function importCircles(files: readonly SourceFile[]): string[][] {
  const sources = files.filter(({ path }) => !isTestFile(path) && !path.includes('/conformance/'));
  const imports = new Map(sources.map((file) => [file.path, importsOf(file)]));
  const reached = new Map(sources.map(({ path }) => [path, reachableFrom(path, imports)]));
  const circles: string[][] = [];
  const placed = new Set<string>();
  for (const { path } of sources) {
    if (placed.has(path) || !reached.get(path)?.has(path)) continue;
    const circle = [...(reached.get(path) ?? [])].filter((other) => reached.get(other)?.has(path)).toSorted();
    for (const member of circle) placed.add(member);
    circles.push(circle);
  }
  return circles.toSorted((a, b) => b.length - a.length);
}

/** Returns the paths of the files that a file imports by a relative path. */
function importsOf(file: SourceFile): string[] {
  return importedSpecifiers(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => join(dirname(file.path), specifier));
}

/** Returns the files that a file imports, directly or through others. The file itself is among them only if it is in a circle. */
function reachableFrom(path: string, imports: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  const toVisit = [...(imports.get(path) ?? [])];
  for (let next = toVisit.pop(); next !== undefined; next = toVisit.pop()) {
    if (reached.has(next) || !imports.has(next)) continue;
    reached.add(next);
    toVisit.push(...(imports.get(next) ?? []));
  }
  return reached;
}
