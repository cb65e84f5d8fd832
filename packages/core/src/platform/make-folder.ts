import { toError } from '../errors.ts';

/** The functions of Node that `makeFolder` needs. */
export interface FolderModules {
  /** The function of `node:fs`. */
  mkdirSync(path: string, options: { readonly mode: number }): unknown;
  /** The function of `node:path`. */
  dirname(path: string): string;
}

/**
 * Creates a folder and its missing parents, with access for their owner only. An existing folder stays as it is.
 *
 * Node's `mkdir` with `recursive` never returns where a file system creates no folder, such as below `/proc`: there
 * `mkdir` fails with ENOENT although the parent exists, and Node creates the parent again and again.
 * @throws the error of `mkdirSync`
 */
export function makeFolder(folder: string, modules: FolderModules): void {
  const parent = modules.dirname(folder);
  let failure = tryMake(folder, modules);
  if (failure?.code === 'ENOENT' && parent !== folder) {
    makeFolder(parent, modules);
    failure = tryMake(folder, modules);
  }
  if (failure && failure.code !== 'EEXIST') throw failure;
}

/** Returns the error of creating one folder. */
function tryMake(folder: string, modules: FolderModules): (Error & { readonly code?: unknown }) | undefined {
  try {
    modules.mkdirSync(folder, { mode: 0o700 });
    return undefined;
  } catch (error) {
    return toError(error);
  }
}
