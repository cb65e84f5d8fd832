import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ConfigurationError } from '@eventloom/core';

/** A file of a folder. */
interface TextFile {
  /** Its path below the folder. */
  readonly path: string;
  readonly text: string;
}

/** The limits of a folder that is read whole. */
interface FolderLimits {
  readonly maxFiles: number;
  readonly maxBytes: number;
}

/**
 * Reads the text files of a folder and of those below it, in the order of their paths. Files and folders whose names
 * begin with a dot, links, and files that are not UTF-8 are left out.
 * @throws ConfigurationError above a limit
 */
export async function readTextFiles(folder: string, { maxFiles, maxBytes }: FolderLimits): Promise<TextFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/(?:^|[/\\])\./.test(relative(folder, path)))
    .toSorted();
  if (paths.length > maxFiles)
    throw new ConfigurationError(
      `FilesRetrieval.create: inputDir: ${folder} has ${paths.length} files; at most ${maxFiles} are read; choose a folder with fewer files`,
    );
  const files: TextFile[] = [];
  let bytes = 0;
  for (const path of paths) {
    bytes += (await stat(path)).size;
    if (bytes > maxBytes)
      throw new ConfigurationError(
        `FilesRetrieval.create: inputDir: the files of ${folder} have more than ${maxBytes} bytes; choose a folder with fewer files`,
      );
    const text = decode(await readFile(path));
    if (text !== undefined) files.push({ path: relative(folder, path), text });
  }
  return files;
}

function decode(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
