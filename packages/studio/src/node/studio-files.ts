import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigurationError, toError } from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import type { StudioFiles } from '../studio-protocol.ts';

/** Options of `studioFiles`. */
export interface StudioFilesOptions {
  /**
   * The folder of the page: a copy of `dist/page` of this package, for a program whose bundle contains the package. Default: that
   * folder, which is found beside the package's own file.
   */
  readonly folder?: string | undefined;
}

const OPTIONS: OptionRules<StudioFilesOptions> = { folder: { is: 'text', write: "'./studio-page'" } };

/**
 * Returns the files of the page. Each is read once.
 *
 * @throws ConfigurationError for an unknown or invalid option; when the page is asked for, if the folder does not have it
 *
 * @example
 * import { createServer } from '@eventloom/server';
 * import { studio } from '@eventloom/studio';
 * import { studioFiles } from '@eventloom/studio/node';
 *
 * const server = createServer({ runners: [runner], protocols: [studio({ files: studioFiles() })] });
 */
export function studioFiles(options: StudioFilesOptions = {}): StudioFiles {
  checkOptions('studioFiles', OPTIONS, options);
  const { folder = ownFolder() } = options;
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  return async (path) => {
    const known = files.get(path);
    if (known) return known;
    // Accepts only names of built files: no parent folders and no hidden files.
    if (!/^(?:assets\/)?[\w-]+(?:\.[\w-]+)+$/.test(path)) return undefined;
    const bytes = await read(join(folder, path));
    if (bytes) files.set(path, bytes);
    else if (path === 'index.html')
      throw new ConfigurationError(
        `studio: ${folder} has no index.html; in a bundle, leave @eventloom/studio external, or copy its folder dist/page and write studioFiles({ folder }); in a clone, run npx -y pnpm@12.21.0 --filter @eventloom/studio-page build`,
      );
    return bytes;
  };
}

/** Returns the folder that the build of this package wrote. */
function ownFolder(): string {
  // Bundles of the format CommonJS leave this address empty.
  const { url } = import.meta;
  if (URL.canParse(url)) return fileURLToPath(new URL('../../dist/page/', url));
  throw new ConfigurationError(
    'studioFiles: this bundle does not know where it is; leave @eventloom/studio external, or write studioFiles({ folder })',
  );
}

async function read(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return new Uint8Array(await readFile(path));
  } catch (error) {
    const reason = toError(error);
    if ('code' in reason && reason.code === 'ENOENT') return undefined;
    throw error;
  }
}
