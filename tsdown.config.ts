import { globSync, readFileSync } from 'node:fs';
import { defineConfig, type UserConfig } from 'tsdown';

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly imports?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

// One config for every package: tsdown runs in the package folder, and the entries are the sources that its manifest exports, and those
// of which it imports another in each runtime.
const { exports, imports = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
const names = [exports, ...Object.values(imports)]
  .flatMap((sources) => Object.values(sources))
  .filter((source) => source.endsWith('.ts'))
  .map((source) => source.replace(/^\.\/src\/|\.ts$/g, ''));
const entries = (folder: string, extension: string): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, `./${folder}/${name}${extension}`]));

const shared: UserConfig = {
  cwd: process.cwd(),
  format: 'esm',
  platform: 'neutral',
  target: 'es2024',
  tsconfig: false,
  deps: { neverBundle: [/^node:/, /^#/] },
};

export default defineConfig([
  {
    ...shared,
    entry: entries('src', '.ts'),
    dts: false,
    sourcemap: true,
    outExtensions: () => ({ js: '.js' }),
    // What is published as it is, with its licence.
    copy: globSync('src/*.{wasm,txt,d.ts}'),
  },
  {
    // `tsc -b` wrote these declarations, so what is published is what was checked.
    ...shared,
    entry: entries('.tsc', '.d.ts'),
    dts: { generator: 'oxc', dtsInput: true, emitDtsOnly: true },
    outExtensions: () => ({ dts: '.d.ts' }),
  },
]);
