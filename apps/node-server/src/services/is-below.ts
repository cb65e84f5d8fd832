import { isAbsolute, relative, sep } from 'node:path';

/** True for a path that is in the folder, or the folder itself. Both are absolute. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
