import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the tarballs of all packages are. */
    readonly tarballFolder: string;
  }
}

/** Builds and packs every package once, before the first test. */
export default function packPackages(project: TestProject): () => void {
  const tarballFolder = mkdtempSync(join(tmpdir(), 'eventloom-tarballs-'));
  execFileSync('pnpm', ['run', 'build', '--output-logs=errors-only'], { stdio: 'inherit' });
  execFileSync('pnpm', ['--filter', './packages/*', 'pack', '--pack-destination', tarballFolder], { stdio: 'ignore' });
  project.provide('tarballFolder', tarballFolder);
  return () => rmSync(tarballFolder, { recursive: true });
}
