import { analyze } from '@typescript-eslint/scope-manager';
import { Visitor } from 'oxc-parser';
import { importedSpecifiers, parseModule } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

const nodeGlobals = new Set(['process', 'Buffer', 'require', '__dirname', '__filename', 'setImmediate']);
/** Matches a text that may use one of them: names may have escapes. Only such files are parsed, which takes most of the time. */
const MAY_USE_THEM = new RegExp(`\\b(?:${[...nodeGlobals].join('|')})\\b|\\\\u`);

/** Returns the files that must run anywhere: no tests, and no files of the node-only folders. */
export function neutralSources(files: readonly SourceFile[], nodeOnlyFolders: readonly string[]): SourceFile[] {
  return files.filter(
    ({ path }) => !isTestFile(path) && !nodeOnlyFolders.some((folder) => path.startsWith(`${folder}/`)),
  );
}

/** Returns imports that only one runtime has: `node:` and other schemes, and relative paths into a node-only folder. */
export function runtimeImports(files: readonly SourceFile[], nodeOnlyFolders: readonly string[]): string[] {
  const intoNodeOnly = (file: SourceFile, specifier: string): boolean => {
    const target = new URL(specifier, `file:///${file.path}`).pathname.slice(1);
    return nodeOnlyFolders.some((folder) => target.startsWith(`${folder}/`));
  };
  return files.flatMap((file) =>
    importedSpecifiers(file)
      .filter((specifier) => /^[a-z]+:/.test(specifier) || (specifier.startsWith('.') && intoNodeOnly(file, specifier)))
      .map((specifier) => `${file.path} imports ${specifier}`),
  );
}

/** Returns uses of Node's globals. The type check cannot find them if the types of a dependency include those of Node. */
export function nodeGlobalUses(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) =>
    (MAY_USE_THEM.test(file.text) ? globalNames(file) : [])
      .filter((name) => nodeGlobals.has(name))
      .map((name) => `${file.path} uses ${name}`),
  );
}

/** Returns the names that the file uses and does not declare, and the properties that it reads from `globalThis`. */
function globalNames(file: SourceFile): string[] {
  const { program } = parseModule(file);
  const names: string[] = [];
  new Visitor({
    MemberExpression({ computed, object, property }) {
      const isGlobal = object.type === 'Identifier' && object.name === 'globalThis';
      if (isGlobal && !computed && property.type === 'Identifier') names.push(property.name);
    },
  }).visit(program);
  // oxc-parser returns the same tree as typescript-eslint, with its own types.
  const { globalScope } = analyze(program as unknown as Parameters<typeof analyze>[0], { sourceType: 'module' });
  for (const { identifier } of globalScope?.through ?? [])
    if ('name' in identifier) names.push(String(identifier.name));
  return names;
}
