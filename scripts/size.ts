/** Reports what a bundle costs, and fails when an in-memory agent passes its budget. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type BuildOptions } from 'esbuild';
import { readPackages } from '../tests/structure/repository.ts';

const budgetInBytes = 40_000;
const root = join(import.meta.dirname, '..');

/** A whole agent with its dependencies: core, runner, llm-agent, tools, in-memory sessions and a scripted model. */
const agent = await measure({ entryPoints: [join(root, 'tests/size/in-memory-agent.ts')], platform: 'browser' });

console.log('Bundle size, minified / gzip (kB)');
console.log(row('in-memory agent', agent));
console.log('Own code of each entry point, for information');
for (const { folder, manifest } of readPackages(root)) {
  for (const [key, source] of Object.entries(manifest.exports ?? {})) {
    const own = await measure({ entryPoints: [join(root, folder, source)], platform: 'neutral', packages: 'external' });
    console.log(row(`${manifest.name}${key.slice(1)}`, own));
  }
}

if (agent.gzip > budgetInBytes) {
  console.error(`The in-memory agent is over its budget of ${inKilobytes(budgetInBytes)} kB gzip.`);
  process.exitCode = 1;
}

async function measure(options: BuildOptions): Promise<{ minified: number; gzip: number }> {
  const { outputFiles } = await build({
    ...options,
    bundle: true,
    format: 'esm',
    minify: true,
    target: 'es2024',
    write: false,
    logLevel: 'error',
    outfile: 'bundle.js',
  });
  const code = outputFiles?.[0]?.contents ?? new Uint8Array();
  return { minified: code.byteLength, gzip: gzipSync(code, { level: 9 }).byteLength };
}

function row(name: string, { minified, gzip }: { minified: number; gzip: number }): string {
  return `${name.padEnd(36)} ${inKilobytes(minified).padStart(8)} ${inKilobytes(gzip).padStart(8)}`;
}

function inKilobytes(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
