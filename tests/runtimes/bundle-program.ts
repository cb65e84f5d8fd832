import { build } from 'esbuild';
import { basename, join } from 'node:path';

/**
 * Bundles a TypeScript program into one file in `folder`, so that it starts in a tenth of a second. Returns the path of
 * the file.
 */
export async function bundleProgram(program: string, folder: string): Promise<string> {
  const outfile = join(folder, `${basename(program, '.ts')}.mjs`);
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    external: ['pg-native'],
    // `pg` is a CommonJS module.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: 'silent',
  });
  return outfile;
}
