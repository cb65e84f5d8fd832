import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder with the tarballs of all packages, or the reason why there is none. Tests of other projects run in any case. */
    readonly tarballs: { readonly folder: string; readonly failure?: undefined } | { readonly failure: string };
  }
}

/** Builds and packs every package once, before the first test. */
export default function packPackages(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-tarballs-'));
  try {
    execFileSync('pnpm', ['run', 'build'], { stdio: 'inherit' });
    execFileSync('pnpm', ['--filter', './packages/*', 'pack', '--pack-destination', folder], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    project.provide('tarballs', { folder });
  } catch (error) {
    project.provide('tarballs', { failure: `the packages could not be built and packed: ${String(error)}` });
  }
  return () => rmSync(folder, { recursive: true });
}
