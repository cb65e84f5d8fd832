import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Returns the bytes of all files of the built page, each compressed with gzip. */
export function pageBytes(): number {
  const folder = join(import.meta.dirname, '../../packages/studio/dist/page');
  const files = globSync('**/*.*', { cwd: folder });
  return files.reduce((sum, file) => sum + gzipSync(readFileSync(join(folder, file))).byteLength, 0);
}
