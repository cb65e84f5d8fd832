import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { freePort } from './free-port.ts';
import { copyPostgresBinaries, postgresUser } from './postgres-binaries.ts';

/** A running PostgreSQL server. */
export interface Postgres {
  /** The URL of its maintenance database, as a superuser. */
  readonly url: string;
  /**
   * Kills the server with all its connections, and starts it again with its files and port. Resolves when it accepts
   * connections.
   */
  restart(): Promise<void>;
  /** Stops all processes of the server: it answers nothing, and accepts no connections, until `thaw`. */
  freeze(): void;
  /** Continues a frozen server. */
  thaw(): void;
  /** Kills the server and removes its files. */
  stop(): Promise<void>;
}

const USER = 'eventloom';

/** Sorts text by language rules, unlike JavaScript: a query that relies on the order of bytes must say so. */
const LOCALE = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US'];

/** Settings without durability: the data is discarded after a crash. */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'max_connections=200', 'jit=off'];

/**
 * Runs its arguments until standard input ends, even if this process was killed, and then removes the folder `$0`. A
 * line stops them and runs them again.
 */
const KEEPER =
  'exec 3>&2 2>/dev/null; "$@" </dev/null 2>&3 & ' +
  'while read -r _; do kill -QUIT $!; wait $!; "$@" </dev/null 2>&3 & done; kill -QUIT $!; wait $!; rm -rf "$0"';

/**
 * Starts a throw-away PostgreSQL on a free port of 127.0.0.1, in a temporary folder. Takes about a second. It ends with
 * this process, even if that is killed. For root, the server runs as nobody.
 *
 * @param overrides settings of the server, such as `fsync=on`, instead of those for temporary data
 * @param parent an existing folder for the temporary one, such as a small file system
 * @throws Error if there is none for this platform, or if it does not start
 */
export async function startPostgres(overrides: readonly string[] = [], parent: string = tmpdir()): Promise<Postgres> {
  const folder = mkdtempSync(join(parent, 'eventloom-postgres-'));
  try {
    const programs = copyPostgresBinaries(folder);
    const user = postgresUser();
    if (user) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, folder]);
    const data = join(folder, 'data');
    const surroundings = { ...user, cwd: folder, env: { PATH: process.env['PATH'], TZ: 'UTC' } };
    const cluster = ['-D', data, '-U', USER, '--auth=trust', '--no-sync', ...LOCALE];
    execFileSync(join(programs, 'initdb'), cluster, { ...surroundings, stdio: ['ignore', 'ignore', 'pipe'] });
    const port = await freePort();
    const place = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', ''];
    const settings = [...SETTINGS, ...overrides].flatMap((setting) => ['-c', setting]);
    const command = ['-c', KEEPER, folder, join(programs, 'postgres'), ...place, ...settings];
    const keeper = spawn('/bin/sh', command, { ...surroundings, stdio: ['pipe', 'ignore', 'pipe'], detached: true });
    const untilReady = readLog(keeper);
    await untilReady();
    let isFrozen = false;
    const thaw = (): void => {
      isFrozen = false;
      signalServer(data, 'SIGCONT');
    };
    return {
      url: `postgresql://${USER}@127.0.0.1:${port}/postgres`,
      async restart() {
        const ready = untilReady();
        keeper.stdin.write('again\n');
        await ready;
      },
      freeze() {
        isFrozen = true;
        signalServer(data, 'SIGSTOP');
      },
      thaw,
      stop() {
        if (isFrozen) thaw();
        return stop(keeper, folder);
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Reads the server's log, so that the server never waits for a reader. The returned function resolves when the server
 * next accepts connections.
 */
function readLog(keeper: ChildProcessByStdio<Writable, null, Readable>): () => Promise<void> {
  const log: string[] = [];
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => undefined);
  keeper.once('error', reject);
  const lines = createInterface(keeper.stderr);
  lines.on('line', (line) => {
    if (log.push(line) > 100) log.shift();
  });
  lines.once('close', () => {
    keeper.stdin.end();
    reject(new Error(`PostgreSQL did not start:\n${log.join('\n')}`));
  });
  return () => {
    const ready = new Promise<void>((resolve) => {
      const look = (line: string): void => {
        if (!line.includes('ready to accept connections')) return;
        lines.off('line', look);
        resolve();
      };
      lines.on('line', look);
    });
    return Promise.race([ready, ended]);
  };
}

/** Sends a signal to the server and to the processes of its connections, which share no process group. */
function signalServer(data: string, signal: 'SIGSTOP' | 'SIGCONT'): void {
  const [main = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(main), signal);
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', main], { encoding: 'utf8' });
  for (const child of children.trim().split(/\s+/)) {
    try {
      process.kill(Number(child), signal);
    } catch (error) {
      // The process has ended in the meantime.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }
}

async function stop(keeper: ChildProcessByStdio<Writable, null, Readable>, folder: string): Promise<void> {
  const exit = once(keeper, 'exit');
  keeper.stdin.end();
  if (keeper.exitCode === null && keeper.signalCode === null) await exit;
  // The keeper, which may be nobody, empties the folder. It may not remove it from a folder that belongs to this user.
  rmSync(folder, { recursive: true, force: true });
}
