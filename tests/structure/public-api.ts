import { exportedNames, parseModule } from './module-syntax.ts';
import type { SourceFile, Workspace } from './repository.ts';

const MAX_WIDTH = 120;

/** Returns every name that the packages export, one per line, as text that is easy to compare. */
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

/** Returns a module that exports all names of an entry file from its package, under the same names and groups. */
export function passOn({ path, text }: SourceFile, packageName: string): string {
  const { program, comments, module } = parseModule({ path, text });
  const groups = new Map<string, string[]>();
  let lines: string[] = [];
  for (const { start } of program.body) {
    const task = comments.find(({ type, end }) => type === 'Line' && text.slice(end, start) === '\n');
    if (task) groups.set(task.value.trim(), (lines = groups.get(task.value.trim()) ?? []));
    const entries = module.staticExports
      .filter((statement) => statement.start === start)
      .flatMap((each) => each.entries);
    const names = entries.flatMap(({ exportName }) => exportName.name ?? []).toSorted();
    const keyword = entries.every(({ isType }) => isType) ? 'export type' : 'export';
    const line = `${keyword} { ${names.join(', ')} } from '${packageName}';`;
    const isLong = line.length > MAX_WIDTH;
    lines.push(isLong ? `${keyword} {\n${names.map((name) => `  ${name},\n`).join('')}} from '${packageName}';` : line);
  }
  return Array.from(groups, ([task, statements]) => `// ${task}\n${statements.join('\n')}\n`).join('\n');
}

/** Returns entry files with a star export, whose published names cannot be read from the file. */
export function starExports(files: readonly SourceFile[]): string[] {
  const entries = files.filter(({ path }) => path.endsWith('/index.ts'));
  return entries.filter((file) => exportedNames(file).some(isStar)).map(({ path }) => path);
}

function isStar({ name }: { readonly name: string | undefined }): boolean {
  return name === undefined;
}
