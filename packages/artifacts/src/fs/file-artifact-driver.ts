import { mkdir, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ArtifactDriver, ArtifactOwner, ArtifactPlace, ArtifactRead, StoredArtifact } from '../artifact-driver.ts';

/** The content of a version's `.json` file. */
interface VersionFile {
  readonly record: StoredArtifact['record'];
  /** Size of the `.data` file in bytes; absent for a part without bytes. */
  readonly size?: number;
}

/**
 * Artifacts in folders, one per artifact. Version `N` is `N.data`, its bytes, and `N.json`, everything else. `N.data`
 * is created first and exclusively: its creator owns the number. It is never removed, only emptied when the version is
 * deleted or cannot be saved. `N.json` is renamed into place last: a version exists if this file exists. Created
 * folders and files are private to their owner.
 */
export class FileArtifactDriver implements ArtifactDriver {
  readonly #rootDir: string;
  readonly #flush: boolean;

  constructor(rootDir: string, flush: boolean) {
    this.#rootDir = rootDir;
    this.#flush = flush;
  }

  async save(place: ArtifactPlace, { record, data }: StoredArtifact): Promise<number> {
    const folder = artifactPath(this.#rootDir, place);
    await makeFolder(folder);
    const bytes = data === undefined ? undefined : Buffer.from(data, 'base64');
    let version = (numbersOf(await readdir(folder), '.data').at(-1) ?? -1) + 1;
    while (!(await this.#claim(join(folder, `${version}.data`), bytes))) version++;
    const file: VersionFile = bytes ? { record, size: bytes.length } : { record };
    const unfinished = join(folder, `${version}.json.tmp`);
    try {
      await writeFile(unfinished, JSON.stringify(file), { mode: 0o600, flush: this.#flush });
      await rename(unfinished, join(folder, `${version}.json`));
    } catch (error) {
      await Promise.all([rm(unfinished, { force: true }), truncate(join(folder, `${version}.data`))]).catch(() => {
        // The first error is the one to report.
      });
      throw error;
    }
    if (this.#flush) await flushFolder(folder);
    return version;
  }

  async read(place: ArtifactPlace, { version, withData }: ArtifactRead) {
    const folder = artifactPath(this.#rootDir, place);
    if (version !== undefined) return readVersion(folder, version, withData);
    // Versions are deleted from the first to the last, so if this one is missing, all earlier ones are too.
    for (const latest of numbersOf(await entriesOf(folder), '.json').toReversed()) {
      const found = await readVersion(folder, latest, withData);
      if (found) return found;
    }
    return undefined;
  }

  async versions(place: ArtifactPlace): Promise<number[]> {
    return numbersOf(await entriesOf(artifactPath(this.#rootDir, place)), '.json');
  }

  async names(owner: ArtifactOwner): Promise<string[]> {
    return namesBelow(ownerPath(this.#rootDir, owner), []);
  }

  async delete(place: ArtifactPlace): Promise<void> {
    const folder = artifactPath(this.#rootDir, place);
    for (const version of numbersOf(await entriesOf(folder), '.json')) {
      await rm(join(folder, `${version}.json`), { force: true });
      await truncate(join(folder, `${version}.data`));
    }
  }

  /**
   * Creates the file and writes the bytes. Returns false if the file exists because another writer took this version
   * number.
   */
  async #claim(path: string, bytes: Uint8Array | undefined): Promise<boolean> {
    const file = await open(path, 'wx', 0o600).catch(ifCode('EEXIST', undefined));
    if (!file) return false;
    try {
      if (bytes) await file.writeFile(bytes);
      if (this.#flush) await file.sync();
    } catch (error) {
      // A full disk keeps the bytes that were written.
      await file.truncate().catch(() => {
        // The first error is the one to report.
      });
      throw error;
    } finally {
      await file.close();
    }
    return true;
  }
}

async function readVersion(folder: string, version: number, withData: boolean) {
  if (!Number.isSafeInteger(version) || version < 0) return undefined;
  const json = await readFile(join(folder, `${version}.json`), 'utf8').catch(ifCode('ENOENT', undefined));
  if (json === undefined) return undefined;
  const { record, size } = JSON.parse(json) as VersionFile;
  if (size === undefined || !withData) return { version, record, data: undefined };
  const bytes = await readFile(join(folder, `${version}.data`));
  // The file is empty: the version was deleted while it was read.
  return bytes.length === size ? { version, record, data: bytes.toString('base64') } : undefined;
}

async function namesBelow(folder: string, parents: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    (await entriesOf(folder)).map(async (segment) => {
      const path = join(folder, segment);
      const segments = [...parents, segment];
      if (isContinued(segment)) return namesBelow(path, segments);
      return numbersOf(await entriesOf(path), '.json').length > 0 ? [decodeName(segments)] : [];
    }),
  );
  return found.flat();
}

/** Lists the entries of a folder. Returns an empty list if the folder does not exist or is a file. */
function entriesOf(folder: string): Promise<string[]> {
  return readdir(folder).catch(ifCode('ENOENT', [])).catch(ifCode('ENOTDIR', []));
}

/** Makes a rename survive a power failure. Windows cannot, and does not need to. */
async function flushFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Returns the numbers of the files whose names have this ending, ascending. */
function numbersOf(entries: readonly string[], ending: string): number[] {
  const names = entries.filter((entry) => entry.endsWith(ending)).map((entry) => entry.slice(0, -ending.length));
  return names
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .sort((one, other) => one - other);
}

/** Returns a value in place of an error with this code, for a `catch`. */
function ifCode<T>(code: string, value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && 'code' in error && error.code === code) return value;
    throw error;
  };
}

/** File systems take 255 bytes in one name; a longer one continues in a sub-folder. */
const MAX_SEGMENT = 200;
/** Suffix of a folder whose name continues in a sub-folder. No encoded name contains it. */
const CONTINUED = '+';

/**
 * Returns the folder of an owner's artifacts. Every name is percent-encoded into separate segments, so a name cannot leave the root or
 * match another one: a slash in a name is `%2F`, and no segment is `.` or `..`.
 */
function ownerPath(rootDir: string, { appName, userId, sessionId }: ArtifactOwner): string {
  const user = join(rootDir, ...encodeName(appName), 'users', ...encodeName(userId));
  return join(user, ...(sessionId === undefined ? [] : ['sessions', ...encodeName(sessionId)]), 'artifacts');
}

/** Returns the folder of an artifact's versions. */
export function artifactPath(rootDir: string, place: ArtifactPlace): string {
  return join(ownerPath(rootDir, place), ...encodeName(place.name));
}

/** True for a folder whose name continues in its sub-folders. */
function isContinued(segment: string): boolean {
  return segment.endsWith(CONTINUED);
}

/** Returns the name that was encoded into these segments. */
export function decodeName(segments: readonly string[]): string {
  const encoded = segments.map((segment) => (isContinued(segment) ? segment.slice(0, -1) : segment)).join('');
  return decodeURIComponent(encoded.replaceAll(/!([a-z])/g, (_, letter: string) => letter.toUpperCase()));
}

/** Encodes `A` as `!a`, so that names which differ only in case are distinct on file systems that ignore case. */
function encodeName(name: string): string[] {
  const encoded = encodeURIComponent(name)
    .replaceAll(/[!'()*~]|^\.|\.$/g, (character) => `%${character.charCodeAt(0).toString(16)}`)
    .replaceAll(/%..|[A-Z]/g, (match) => (match.startsWith('%') ? match.toLowerCase() : `!${match.toLowerCase()}`));
  const segments: string[] = [];
  for (let start = 0; start < encoded.length; start += MAX_SEGMENT) {
    const end = start + MAX_SEGMENT;
    segments.push(encoded.slice(start, end) + (end < encoded.length ? CONTINUED : ''));
  }
  return segments;
}

/**
 * Creates a folder and its missing parents. Without `recursive`, because Node's version never returns on file systems that refuse folders,
 * such as `/proc`.
 */
async function makeFolder(folder: string): Promise<void> {
  const tryMake = (): Promise<NodeJS.ErrnoException | undefined> =>
    mkdir(folder, { mode: 0o700 }).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error,
    );
  let failure = await tryMake();
  if (failure?.code === 'ENOENT' && dirname(folder) !== folder) {
    await makeFolder(dirname(folder));
    failure = await tryMake();
  }
  if (failure && failure.code !== 'EEXIST') throw failure;
}
