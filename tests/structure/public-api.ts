import { exportedNames } from './module-syntax.ts';
import type { SourceFile, Workspace } from './repository.ts';

/** Every name that the packages export, one a line, in a text made for reading the difference. */
export function publicApi(packages: readonly Workspace[]): string {
  const sections = packages.flatMap((workspace) =>
    Object.entries(workspace.manifest.exports ?? {}).map(([key, source]) => {
      if (source.endsWith('.wasm')) return `${workspace.manifest.name}${key.slice(1)}`;
      const entry = workspace.files.find(({ path }) => path === `${workspace.folder}/${source.slice(2)}`);
      const names = entry ? exportedNames(entry).map(({ kind, name }) => `${kind} ${name ?? '*'}`) : ['missing'];
      return [`${workspace.manifest.name}${key.slice(1)}`, ...names.toSorted().map((line) => `  ${line}`)].join('\n');
    }),
  );
  return `${sections.join('\n\n')}\n`;
}

/** Entry files that export with a star: what they publish cannot be read off them. */
export function starExports(files: readonly SourceFile[]): string[] {
  const entries = files.filter(({ path }) => path.endsWith('/index.ts'));
  return entries.filter((file) => exportedNames(file).some(isStar)).map(({ path }) => path);
}

function isStar({ name }: { readonly name: string | undefined }): boolean {
  return name === undefined;
}
