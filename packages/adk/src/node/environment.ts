import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseEnv } from 'node:util';
import { toError } from '@eventloom/core';

type Variables = Readonly<Record<string, string | undefined>>;

interface DotEnv {
  readonly variables: Variables;
  /** The reason for which the file cannot be read; undefined if it was read, or does not exist. */
  readonly fault?: string;
}

let ofFile: ({ readonly folder: string } & DotEnv) | undefined;

/** Returns an environment variable: of the process, or of the file `.env` in the folder in which the process runs. */
export function readVariable(name: string): string | undefined {
  return findVariable(name, process.env, process.cwd());
}

/**
 * Returns a variable of the file `.env` that the environment of the process does not have. Libraries read the others
 * themselves.
 */
export function readUnsetVariable(name: string): string | undefined {
  return process.env[name] ? undefined : readVariable(name);
}

/** Returns a variable of `process`, or of the file `.env` in `folder`. An empty value counts as absent. The file is read once. */
export function findVariable(name: string, ofProcess: Variables, folder: string): string | undefined {
  if (ofProcess[name]) return ofProcess[name];
  if (ofFile?.folder !== folder) ofFile = { folder, ...readDotEnv(join(folder, '.env')) };
  return ofFile.variables[name] || undefined;
}

/**
 * Returns a sentence about a file `.env` that exists and cannot be read, for an error about a missing variable;
 * otherwise an empty text.
 */
export function describeDotEnv(): string {
  return ofFile?.fault === undefined ? '' : ` The file ${join(ofFile.folder, '.env')} cannot be read: ${ofFile.fault}.`;
}

function readDotEnv(path: string): DotEnv {
  try {
    // Editors may begin a file with a byte order mark, which would be a part of the first name.
    return { variables: parseEnv(readFileSync(path, 'utf8').replace(/^\uFEFF/, '')) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // Python calls folders so, too.
    if (code === 'ENOENT' || code === 'EISDIR') return { variables: {} };
    return { variables: {}, fault: toError(error).message };
  }
}
