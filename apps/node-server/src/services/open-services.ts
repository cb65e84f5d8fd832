import { existsSync, statSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import {
  type BaseSessionService,
  type BaseArtifactService,
  type BaseMemoryService,
  type BaseCredentialService,
  ConfigurationError,
  encodeBase64,
  toError,
} from '@eventloom/core';
import { InMemoryCredentialService, createEncryptionKey, parseEncryptionKey } from '@eventloom/credentials';
import { InMemoryMemoryService } from '@eventloom/memory';
import type { RunRelay } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { UsageError } from '../errors.ts';
import type { SessionsPlace, ArtifactsPlace, MemoryPlace, CredentialsPlace } from '../settings.ts';
import { openPostgres } from './open-postgres.ts';

/** An open session service, and the function that closes it. */
export interface OpenSessions {
  readonly service: BaseSessionService;
  /** The relay to other processes with the same sessions, if there can be any. */
  readonly relay?: RunRelay;
  close(): void | Promise<void>;
}

/**
 * @param warn called with a line for each failure outside of calls
 * @throws ConfigurationError when the file or the database cannot be used
 */
export async function openSessions(place: SessionsPlace, warn: (line: string) => void): Promise<OpenSessions> {
  if (place.kind === 'memory') return { service: new InMemorySessionService(), close: () => undefined };
  if (place.kind === 'postgres') return openPostgres(place.url, warn);
  const { SqliteSessionService } = await import('@eventloom/sessions/sqlite');
  const service = new SqliteSessionService({ path: place.file });
  return { service, close: () => service.close() };
}

/**
 * Opens the artifact service of a place.
 *
 * @throws UsageError if the folder is a file
 */
export function openArtifacts(place: ArtifactsPlace): BaseArtifactService {
  if (place.kind === 'memory') return new InMemoryArtifactService();
  const { folder } = place;
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new UsageError(
      `--artifacts file:${folder}: is not a folder; write the path of a folder, or of one that can be created`,
    );
  }
  return new FileArtifactService({ rootDir: folder });
}

/** An open memory service, and the function that closes it. */
export interface OpenMemory {
  readonly service: BaseMemoryService;
  close(): void;
}

/** @throws ConfigurationError if the file cannot be used */
export async function openMemory(place: MemoryPlace): Promise<OpenMemory> {
  if (place.kind === 'memory') return { service: new InMemoryMemoryService(), close: () => undefined };
  const { SqliteMemoryService } = await import('@eventloom/memory/sqlite');
  const service = new SqliteMemoryService({ path: place.file });
  return { service, close: () => service.close() };
}

/** An open credential service, and the function that closes it. */
export interface OpenCredentials {
  readonly service: BaseCredentialService;
  close(): void;
}

/** @throws ConfigurationError if the file or its key file cannot be used */
export async function openCredentials(place: CredentialsPlace): Promise<OpenCredentials> {
  if (place.kind === 'memory') return { service: new InMemoryCredentialService(), close: () => undefined };
  const { file, keys = [readKeyFile(`${file}.key`)] } = place;
  const { SqliteCredentialService } = await import('@eventloom/credentials/sqlite');
  const service = new SqliteCredentialService({ path: file, keys });
  return { service, close: () => service.close() };
}

/**
 * Reads the key from a file, which is created for its owner only if it does not exist. Processes that create it at the same time get the
 * same key.
 * @throws ConfigurationError for a file that other users can read, that cannot be read or created, or that contains no key
 */
export function readKeyFile(file: string): Uint8Array {
  try {
    if (!statSync(file, { throwIfNoEntry: false })) makeKeyFile(file);
    // Windows has no such permission bits.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0)
      throw new ConfigurationError(
        `other users can read it; run \`chmod 600\` on it, and create a new key if another user may have read this one`,
      );
    return parseEncryptionKey(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new ConfigurationError(`cannot use ${file} as the key of credentials: ${toError(cause).message}`, { cause });
  }
}

/** Writes the file atomically, so that a reader never finds an incomplete one. */
function makeKeyFile(file: string): void {
  const draft = `${file}.${process.pid}`;
  makeFolder(dirname(resolve(file)));
  writeFileSync(draft, `${encodeBase64(createEncryptionKey())}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    // Another process created the file first; its key is used.
    if (!statSync(file, { throwIfNoEntry: false })) throw error;
  } finally {
    rmSync(draft);
  }
}

/**
 * Creates the data folder, and excludes it from version control.
 *
 * @throws UsageError if it cannot be created
 */
export function makeDataFolder(folder: string): void {
  try {
    makeFolder(resolve(folder));
    writeFileSync(join(folder, '.gitignore'), '*\n', { mode: 0o600 });
  } catch (cause) {
    throw new UsageError(`--data ${folder}: cannot be used as a folder: ${toError(cause).message}`, { cause });
  }
}

/**
 * Creates a folder and its missing parents. `recursive` is not used, because it never returns on a file system that
 * cannot create folders, such as `/proc`.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder in the meantime.
    if (!existsSync(folder)) throw error;
  }
}
