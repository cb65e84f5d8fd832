import { readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { ConfigurationError, toError } from '@eventloom/core';
import type { UiFiles } from '../dev-protocol.ts';

/**
 * Reads the files of a page from a folder, such as a copy of adk-web: the folder that holds its `index.html`. Files outside of the folder
 * are not served, not even through links.
 * @throws ConfigurationError if the folder has no index.html
 *
 * @example
 * import { dev, SpanStore } from '@eventloom/dev';
 * import { uiFiles } from '@eventloom/dev/node';
 *
 * const protocol = dev({ spans: new SpanStore(), ui: await uiFiles('./adk-web') });
 */
export async function uiFiles(folder: string): Promise<UiFiles> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw noPage(folder, error);
  });
  const read = async (path: string): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    if (!/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(path)) return undefined;
    try {
      const file = await realpath(join(root, path));
      return file.startsWith(`${root}${sep}`) ? new Uint8Array(await readFile(file)) : undefined;
    } catch (error) {
      const reason = toError(error);
      if ('code' in reason && typeof reason.code === 'string' && ABSENT.has(reason.code)) return undefined;
      throw error;
    }
  };
  if (!(await read('index.html'))) throw noPage(folder);
  return read;
}

/** The error codes for paths that name no file. */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP']);

function noPage(folder: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(
    `uiFiles: ${JSON.stringify(folder)} has no index.html; write the folder that holds the page, such as node_modules/@google/adk-devtools/dist/browser`,
    { cause },
  );
}
