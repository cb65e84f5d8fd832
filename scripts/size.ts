/** Reports what a bundle costs, and fails when an in-memory agent or a Worker passes its budget. */
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { readPackages } from '../tests/structure/repository.ts';

/** The target is 40,000 (see bench/README.md); until it is met again, this keeps the bundle from growing further. */
const budgetInBytes = 42_600;
const root = join(import.meta.dirname, '..');

/** A whole agent with its dependencies: core, runner, llm-agent, tools, in-memory sessions and a scripted model. */
const agentEntry = 'tests/size/in-memory-agent.ts';
/** What is loaded at the start, and what all of it is with the parts that are loaded when they are first needed. */
const agent = await measure(agentEntry, { platform: 'browser', splitting: true, outdir: 'bundle' });
const whole = await measure(agentEntry, { platform: 'browser', outfile: 'bundle.js' });

/**
 * As wrangler bundles a Worker that says `minify: true` and `keep_names: false`: all in one file. The targets are 60 kB for the runtime
 * with hono and 170 kB for the Worker with Gemini; the budgets keep what there is. What wrangler itself makes of them, from the sources and
 * from the packages as they are published, is held to the targets in tests/packages/worker.test.ts. A Worker that is a server has live runs
 * in it, which take 15 kB, and their side of Gemini, which takes 5.
 */
const workerd: BuildOptions = {
  platform: 'browser',
  conditions: ['workerd', 'worker', 'browser'],
  outfile: 'bundle.js',
};
const workers = [
  { name: 'runtime and hono, on Workers', entry: 'tests/size/edge-runtime.ts', budget: 59_800 },
  { name: 'Worker server, no model', entry: 'apps/edge-worker/src/scripted-worker.ts', budget: 118_400 },
  { name: 'Worker server with Gemini', entry: 'apps/edge-worker/src/worker.ts', budget: 167_700 },
];

console.log('Bundle size, minified / gzip (kB)');
console.log(row('in-memory agent, loaded at start', agent));
console.log(row('in-memory agent, in one file', whole));
// A queue brings along what runs live: who makes none is to have nothing of it.
const live = whole.inputs.filter((path) => /llm-agent\/src\/live\/|\/base-live-request-queue\.ts$/.test(path));
if (live.length > 0) {
  console.error(`The in-memory agent, which only writes, has parts of live runs: ${live.join(', ')}.`);
  process.exitCode = 1;
}
for (const { name, entry, budget } of workers) {
  const size = await measure(entry, workerd);
  console.log(row(name, size));
  if (size.gzip > budget) {
    console.error(`${name}: is over its budget of ${inKilobytes(budget)} kB gzip.`);
    process.exitCode = 1;
  }
}
console.log('Own code of each entry point, for information');
for (const { folder, manifest } of readPackages(root)) {
  for (const [key, source] of Object.entries(manifest.exports ?? {})) {
    const own = await measure(join(folder, source), {
      platform: 'neutral',
      packages: 'external',
      outfile: 'bundle.js',
    });
    console.log(row(`${manifest.name}${key.slice(1)}`, own));
  }
}

if (agent.gzip > budgetInBytes) {
  console.error(`The in-memory agent is over its budget of ${inKilobytes(budgetInBytes)} kB gzip.`);
  process.exitCode = 1;
}

interface Measured {
  readonly minified: number;
  readonly gzip: number;
  /** The files that it is made of. */
  readonly inputs: readonly string[];
}

/** Of an entry that is split into files, those that are loaded at its start: it, and what it imports not only when needed. */
async function measure(entry: string, options: BuildOptions): Promise<Measured> {
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    format: 'esm',
    minify: true,
    target: 'es2024',
    write: false,
    logLevel: 'error',
    metafile: true,
    // An engine is no code of the project.
    loader: { '.wasm': 'empty' },
  });
  const outputs = metafile?.outputs ?? {};
  const loaded = new Set(Object.keys(outputs).filter((name) => outputs[name]?.entryPoint === entry));
  for (const name of loaded) {
    for (const { kind, path } of outputs[name]?.imports ?? []) if (kind === 'import-statement') loaded.add(path);
  }
  const files = outputFiles.filter(({ path }) => loaded.has(relative(root, path)));
  const inputs = [...loaded].flatMap((name) => Object.entries(outputs[name]?.inputs ?? {}));
  return {
    inputs: inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path),
    minified: files.reduce((sum, { contents }) => sum + contents.byteLength, 0),
    gzip: files.reduce((sum, { contents }) => sum + gzipSync(contents).byteLength, 0),
  };
}

function row(name: string, { minified, gzip }: Measured): string {
  return `${name.padEnd(36)} ${inKilobytes(minified).padStart(8)} ${inKilobytes(gzip).padStart(8)}`;
}

function inKilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
