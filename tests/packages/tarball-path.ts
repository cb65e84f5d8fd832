import { join } from 'node:path';
import { inject } from 'vitest';

/**
 * Returns the path of a package's tarball: `@eventloom/core` → `eventloom-core-0.0.0.tgz`.
 * @throws Error when the packages could not be built and packed
 */
export function tarballPath({ name, version }: { readonly name: string; readonly version: string }): string {
  const tarballs = inject('tarballs');
  if (tarballs.failure !== undefined) throw new Error(tarballs.failure);
  return join(tarballs.folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
}
