import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig, type Rolldown, type UserConfig } from 'tsdown';

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/**
 * Names the chunk of modules that the root entry and another entry both load. They share one file, because node needs about half a
 * millisecond for each file of an import.
 */
function sharedWithRoot(root: string, id: string, context: Rolldown.ChunkingContext): string | null {
  const loaded = new Set([root]);
  for (const from of loaded) for (const to of context.getModuleInfo(from)?.importedIds ?? []) loaded.add(to);
  return loaded.has(id) ? 'shared' : null;
}

interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Takes the members that are marked with `@internal` out of declarations: only the packages of Eventloom use them. */
function withoutInternals(code: string, program: Syntax): string {
  const internal: Syntax[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('type' in value && (value.type === 'ClassBody' || value.type === 'TSInterfaceBody') && 'body' in value) {
      for (const { type, end, start } of value.body as readonly Syntax[]) {
        const [comment] = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s*$/.exec(code.slice(0, start)) ?? [''];
        if (comment.includes('@internal')) internal.push({ type, start: start - comment.length, end });
      }
    }
    for (const child of Object.values(value)) visit(child);
  };
  visit(program);
  return internal
    .toReversed()
    .reduce((text, { start, end }) => text.slice(0, start) + text.slice(end).trimStart(), code);
}

const shared: UserConfig = {
  format: 'esm',
  platform: 'neutral',
  target: 'es2024',
  tsconfig: false,
  checks: { pluginTimings: false },
  deps: { neverBundle: [/^node:/, /^#/] },
  // The page of Studio has a build of its own, and may be in use while the package is built.
  clean: ['dist', '!dist/page*'],
};

/**
 * The code and the declarations of a package: the entries are the sources that its manifest exports, and those of which
 * it imports another in each runtime.
 */
function configsOf(cwd: string): UserConfig[] {
  const { exports, imports = {} } = JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as Manifest;
  const names = [exports, ...Object.values(imports)]
    .flatMap((sources) => Object.values(sources))
    .filter((source) => source.endsWith('.ts'))
    .map((source) => source.replace(/^\.\/src\/|\.ts$/g, ''));
  const entries = (folder: string, extension: string): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, `./${folder}/${name}${extension}`]));
  const root = join(cwd, 'src/index.ts');
  return [
    {
      ...shared,
      cwd,
      entry: entries('src', '.ts'),
      dts: false,
      sourcemap: true,
      outExtensions: () => ({ js: '.js' }),
      outputOptions: {
        codeSplitting: {
          groups: [{ name: (id, context) => sharedWithRoot(root, id, context), minShareCount: 2, debugName: 'shared' }],
        },
        // Editors read the docstrings in the declarations.
        comments: { jsdoc: false },
      },
      // What is published as it is, with its licence.
      copy: globSync('src/*.{wasm,txt,d.ts}', { cwd }),
    },
    {
      // `tsc -b` wrote these declarations, so what is published is what was checked.
      ...shared,
      cwd,
      entry: entries('.tsc', '.d.ts'),
      dts: { generator: 'oxc', dtsInput: true, emitDtsOnly: true },
      outExtensions: () => ({ dts: '.d.ts' }),
      plugins: [
        {
          name: 'types-of-bytes',
          // Writes the same type in a form that TypeScript before 5.7 knows as well, where `Uint8Array` is not generic.
          renderChunk: (code) => code.replaceAll('Uint8Array<ArrayBuffer>', "ReturnType<Uint8ArrayConstructor['of']>"),
        },
        {
          name: 'no-idle-imports',
          // Without it, TypeScript would read and check the declarations of a library of which these name nothing.
          renderChunk: (code) => code.replaceAll(/^import "[^".][^"]*";\n/gm, ''),
        },
        {
          name: 'public-members',
          renderChunk(code) {
            return withoutInternals(code, this.parse(code, { lang: 'dts' }));
          },
        },
      ],
    },
  ];
}

// All packages in one process: to start one for each would take most of the time.
export default defineConfig(
  globSync('packages/*/package.json', { cwd: import.meta.dirname }).flatMap((path) =>
    configsOf(join(import.meta.dirname, dirname(path))),
  ),
);
