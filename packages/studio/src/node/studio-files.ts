import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ConfigurationError, toError } from '@eventloom/core';
import type { StudioFiles } from '../studio-protocol.ts';

/** The folder with the files that the build of this package wrote. */
const FOLDER = new URL('../../dist/page/', import.meta.url);

/**
 * Returns the files of the page from the folder of this package. Each is read once.
 *
 * @example
 * import { createServer } from '@eventloom/server';
 * import { studio } from '@eventloom/studio';
 * import { studioFiles } from '@eventloom/studio/node';
 *
 * const server = createServer({ runners: [runner], protocols: [studio({ files: studioFiles() })] });
 */
export function studioFiles(): StudioFiles {
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  return async (path) => {
    const known = files.get(path);
    if (known) return known;
    // Accepts only names of built files: no parent folders and no hidden files.
    if (!/^(?:assets\/)?[\w-]+(?:\.[\w-]+)+$/.test(path)) return undefined;
    const bytes = await read(path);
    if (bytes) files.set(path, bytes);
    else if (path === 'index.html')
      throw new ConfigurationError(
        `studio: the page is not built: ${fileURLToPath(FOLDER)} has no index.html; run npx -y pnpm@12.21.0 --filter @eventloom/studio-page build`,
      );
    return bytes;
  };
}

async function read(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(new URL(path, FOLDER)));
  } catch (error) {
    const reason = toError(error);
    if ('code' in reason && reason.code === 'ENOENT') return undefined;
    throw error;
  }
}
