import { dirname, join } from 'node:path/posix';
import { exportedNames, importedSpecifiers, readModule } from './module-syntax.ts';
import { isTestFile, type SourceFile, type Workspace } from './repository.ts';

/** The specifiers that lead to the files of packages, such as `@eventloom/core/internal`. */
type EntryFiles = ReadonlyMap<string, string>;

/**
 * Returns the exports of packages that no file imports, as `path: name`. A name that a public entry file passes on is used; one of an entry
 * `./internal` only if another file imports it from there.
 *
 * @param packages the packages whose exports are checked
 * @param users all files that may use them, tests included
 */
export function unusedExports(packages: readonly Workspace[], users: readonly SourceFile[]): string[] {
  const entries = entryFilesOf(packages);
  const publicFiles = new Set([...entries].flatMap(([name, path]) => (name.includes('/internal') ? [] : [path])));
  const used = new Set<string>();
  for (const user of users) for (const name of importedNames(user, entries)) used.add(name);
  const passedOn = new Map<string, [path: string, name: string][]>();
  for (const { files } of packages) {
    for (const file of files) {
      for (const { importName, exportName, moduleRequest } of readModule(file).staticExports.flatMap(
        (each) => each.entries,
      )) {
        if (!moduleRequest) continue;
        const key = `${resolve(file, moduleRequest.value, entries)}: ${importName.name ?? '*'}`;
        passedOn.set(key, [...(passedOn.get(key) ?? []), [file.path, exportName.name ?? '*']]);
      }
    }
  }
  const isUsed = (path: string, name: string): boolean =>
    publicFiles.has(path) ||
    used.has(`${path}: ${name}`) ||
    used.has(`${path}: *`) ||
    [`${path}: ${name}`, `${path}: *`].some((key) =>
      passedOn.get(key)?.some(([place, as]) => isUsed(place, as === '*' ? name : as)),
    );
  return packages
    .flatMap(({ files }) => files)
    .filter(({ path }) => !isTestFile(path) && !path.endsWith('.d.ts'))
    .flatMap((file) =>
      exportedNames(file).flatMap(({ name }) =>
        name === undefined || isUsed(file.path, name) ? [] : [`${file.path}: ${name}`],
      ),
    );
}

/** Returns the names that a file imports, as `path: name`, and `path: *` for all names of a file. */
function importedNames(file: SourceFile, entries: EntryFiles): string[] {
  const names: string[] = [];
  const { staticImports, staticExports } = readModule(file);
  const specifiers = new Set(importedSpecifiers(file));
  for (const { moduleRequest, entries: imported } of staticImports) {
    specifiers.delete(moduleRequest.value);
    const path = resolve(file, moduleRequest.value, entries);
    for (const { importName } of imported) names.push(`${path}: ${importName.name ?? '*'}`);
  }
  for (const { entries: exported } of staticExports)
    for (const { moduleRequest } of exported) if (moduleRequest) specifiers.delete(moduleRequest.value);
  // `import()` may use any name of the module.
  for (const specifier of specifiers) names.push(`${resolve(file, specifier, entries)}: *`);
  return names;
}

/** Returns the path of an imported file; undefined for a package of others. */
function resolve(file: SourceFile, specifier: string, entries: EntryFiles): string | undefined {
  return specifier.startsWith('.') ? join(dirname(file.path), specifier) : entries.get(specifier);
}

/** Returns the files that packages export, or choose for a runtime, by the specifiers that lead to them. */
function entryFilesOf(packages: readonly Workspace[]): EntryFiles {
  const files = new Map<string, string>();
  for (const { folder, manifest } of packages) {
    for (const [key, target] of Object.entries(manifest.exports ?? {}))
      if (typeof target === 'string') files.set(`${manifest.name}${key.slice(1)}`, `${folder}/${target.slice(2)}`);
    for (const [key, targets] of Object.entries(manifest.imports ?? {}))
      for (const [condition, target] of Object.entries(targets))
        files.set(`${folder} ${key} ${condition}`, `${folder}/${target.slice(2)}`);
  }
  return files;
}
