import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseEnv } from 'node:util';

type Variables = Readonly<Record<string, string | undefined>>;

let ofFile: { readonly folder: string; readonly variables: Variables } | undefined;

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
  if (ofFile?.folder !== folder) ofFile = { folder, variables: readDotEnv(join(folder, '.env')) };
  return ofFile.variables[name] || undefined;
}

function readDotEnv(path: string): Variables {
  try {
    // Editors may begin a file with a byte order mark, which would be a part of the first name.
    return parseEnv(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}
