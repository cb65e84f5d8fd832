import { type ExportedName, exportedNames } from './module-syntax.ts';
import type { SourceFile, Workspace } from './repository.ts';

/** Returns every name that the packages export, one per line, as text that is easy to compare. */
export function publicApi(packages: readonly Workspace[]): string {
  const sections = packages.flatMap((workspace) =>
    Object.entries(workspace.manifest.exports ?? {}).map(([key, source]) => {
      if (source.endsWith('.wasm')) return `${workspace.manifest.name}${key.slice(1)}`;
      const entry = workspace.files.find(({ path }) => path === `${workspace.folder}/${source.slice(2)}`);
      const names = entry
        ? exportedNames(entry).map(({ kind, name, from }) =>
            name === undefined ? `all of ${from}` : `${kind} ${name}`,
          )
        : ['missing'];
      return [`${workspace.manifest.name}${key.slice(1)}`, ...names.toSorted().map((line) => `  ${line}`)].join('\n');
    }),
  );
  return `${sections.join('\n\n')}\n`;
}

/**
 * Returns entry files with a star export, whose published names cannot be read from the file, unless it exports all
 * names of another package.
 */
export function starExports(files: readonly SourceFile[]): string[] {
  const entries = files.filter(({ path }) => path.endsWith('/index.ts'));
  return entries.filter((file) => exportedNames(file).some(isStar)).map(({ path }) => path);
}

function isStar({ name, from }: ExportedName): boolean {
  return name === undefined && from?.startsWith('@eventloom/') !== true;
}
