/**
 * Builds apps/node-server into a folder that starts without this repository: `pnpm build:server [folder] [tarballs]`. Our packages in it
 * are unpacked tarballs, as npm would have them, and all others have the versions of the lockfile; only production dependencies are
 * installed. The packages are not bundled, because the agents that the server loads import them and must get the server's copies.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

/** Node flags for a server: see "An image" in docs/guide/serving-on-node.md. */
const FLAGS = '--max-semi-space-size=8 --heap-growing-percent=20 --no-concurrent-recompilation --expose-gc';
const root = join(import.meta.dirname, '..');
const app = join(root, 'apps/node-server');
const USAGE = `pnpm build:server [folder] [tarballs]

Builds apps/node-server into a folder that starts without this repository.

  folder    where to build; empty, or with an earlier build, which is replaced (default: apps/node-server/dist)
  tarballs  a folder with the packed packages (default: they are built and packed)`;
const [target = join(app, 'dist'), packed] = readArguments();
const folder = resolve(target);
const { name, version, license, dependencies } = readManifest(app);

if (existsSync(folder) && readdirSync(folder).length > 0 && readManifest(folder).name !== name) {
  console.error(`${folder}: is neither empty nor an earlier build; choose another folder`);
  process.exit(1);
}
rmSync(folder, { recursive: true, force: true });
// A given folder of tarballs saves building and packing.
const tarballs = packed ?? mkdtempSync(join(tmpdir(), 'eventloom-tarballs-'));
try {
  if (packed === undefined) {
    pnpm('run', 'build');
    pnpm('--filter', './packages/*', 'pack', '--pack-destination', tarballs);
  }
  deployDependencies();
  for (const tarball of readdirSync(tarballs)) replaceByTarball(join(tarballs, tarball));
} finally {
  if (packed === undefined) rmSync(tarballs, { recursive: true });
}
await build({
  entryPoints: { main: join(app, 'src/main.ts'), health: join(app, 'src/health.ts') },
  outdir: folder,
  bundle: true,
  // The program is loaded after its signals have handlers.
  splitting: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node22.18',
});
for (const file of ['Dockerfile', 'LICENSE']) cpSync(join(file === 'LICENSE' ? root : app, file), join(folder, file));
writeManifest();
// The image runs as another user than the one who builds it, whose umask may be restrictive.
execFileSync('chmod', ['-R', 'go+rX', folder]);
console.log(
  `built ${folder}; start it with: node ${FLAGS} ${join(folder, 'main.js')}, or make an image: docker build ${folder}`,
);

/** Returns the arguments. Ends the program after `--help` and for unknown arguments. */
function readArguments(): string[] {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help !== true && positionals.length <= 2) return positionals;
    if (values.help !== true) throw new TypeError(`Unexpected argument '${positionals[2]}'`);
    console.log(USAGE);
    process.exit(0);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

/** Installs what the app needs in production in plain folders, without links into this repository or into pnpm's store. */
function deployDependencies(): void {
  const settings = ['inject-workspace-packages=true', 'node-linker=hoisted', 'package-import-method=copy'];
  pnpm('--filter', name, 'deploy', '--prod', ...settings.map((setting) => `--config.${setting}`), folder);
  // The other files are pnpm's, with paths of this machine, and the sources of the app.
  for (const file of readdirSync(folder)) if (file !== 'node_modules') rmSync(join(folder, file), { recursive: true });
  const modules = join(folder, 'node_modules');
  for (const file of readdirSync(modules)) if (file.startsWith('.')) rmSync(join(modules, file), { recursive: true });
}

/** Replaces the workspace copy of a package, which pnpm installed, by the published one. */
function replaceByTarball(tarball: string): void {
  const manifest = execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' });
  const target = join(folder, 'node_modules', ...(JSON.parse(manifest) as { name: string }).name.split('/'));
  if (!existsSync(target)) return;
  rmSync(target, { recursive: true });
  mkdirSync(target);
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components=1']);
}

/** Writes the manifest: the purpose of the folder, and the versions that it was built with. */
function writeManifest(): void {
  const installed = Object.keys(dependencies).map((dependency) => {
    return [dependency, readManifest(join(folder, 'node_modules', dependency)).version];
  });
  const manifest = {
    name,
    version,
    private: true,
    license,
    type: 'module',
    // Without `exec`, a SIGTERM for npm would end the shell between npm and the server, and not the server.
    scripts: { start: `exec node ${FLAGS} main.js` },
    dependencies: Object.fromEntries(installed) as Record<string, string>,
    engines: { node: '>=22.18' },
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

function readManifest(of: string): Manifest {
  const file = join(of, 'package.json');
  return existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest)
    : { name: '', version: '', license: '', dependencies: {} };
}

/** Runs pnpm, and prints what it wrote if it fails: it writes the errors of the compiler to its standard output. */
function pnpm(...args: readonly string[]): void {
  const { status, stdout, error } = spawnSync('pnpm', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: Infinity,
  });
  if (status === 0) return;
  process.stderr.write(stdout ?? '');
  throw new Error(`pnpm ${args.join(' ')} failed: see its output above`, error && { cause: error });
}
