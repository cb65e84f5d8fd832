import { join } from 'node:path';
import { inject } from 'vitest';

/** The tarball of a package: `@eventloom/core` → `eventloom-core-0.1.0.tgz`. */
export function tarballPath({ name, version }: { readonly name: string; readonly version: string }): string {
  return join(inject('tarballFolder'), `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
}
