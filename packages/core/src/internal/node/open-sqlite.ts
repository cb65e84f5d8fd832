import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import type { DatabaseSync } from 'node:sqlite';
import { ConfigurationError, toError } from '../../errors.ts';

/** The database of a service. Exactly one of the two is given. */
export interface SqlitePlace {
  /** Path of the file, which is created with its folder if it does not exist; `:memory:` is a separate database. */
  readonly path?: string | undefined;
  /** An open database, which may hold other tables. */
  readonly database?: DatabaseSync | undefined;
}

/** The settings and tables of a service's database. */
interface SqliteUse<T> {
  /** The class of the service, for errors. */
  readonly service: string;
  /** The use of the database, for errors, e.g. `a session database`. */
  readonly purpose: string;
  /** The name of a file, for errors, e.g. `sessions.db`. */
  readonly example: string;
  /** `NORMAL`: after a crash of the machine the last writes may be missing. `FULL`: they survive it. */
  readonly synchronous: 'NORMAL' | 'FULL';
  /** Statements for a file that the service opens itself, before any other. */
  readonly pragmas: string;
  /**
   * Creates or migrates the tables, and returns what works on them. Waits up to five seconds for a lock, and blocks the
   * thread in that time.
   */
  prepare(database: DatabaseSync): T;
}

/** A database that is ready for use. */
export interface OpenSqlite<T> {
  /** The result of `prepare`. */
  readonly driver: T;
  /** True once the file was deleted or replaced: nobody else sees what is written. Always false for a database that was given open. */
  isReplaced(): boolean;
  /** Closes the file, once, unless the database was given open. */
  close(): void;
}

/** Time for which opening waits for a lock, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;
const WAIT_FOR_LOCKS = `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`;

/**
 * Opens the file of a service, or sets up the database that it was given: WAL, and a `busy_timeout` of 0, because the
 * service waits for locks without blocking the thread (see `LockLine`). New files and folders are private to their
 * owner.
 * @throws ConfigurationError if both or none of `path` and `database` are given, if the runtime has no `node:sqlite`, if the file is not a
 * database or cannot be opened, and the error of `prepare`
 */
export function openSqlite<T>({ path, database }: SqlitePlace, use: SqliteUse<T>): OpenSqlite<T> {
  if (path !== undefined && database === undefined) return openFile(path, use);
  if (path === undefined && database !== undefined)
    return { driver: setUp(database, use), isReplaced: () => false, close: () => undefined };
  throw new ConfigurationError(`${use.service}: needs either path, as in { path: '${use.example}' }, or database`);
}

function openFile<T>(path: string, use: SqliteUse<T>): OpenSqlite<T> {
  const sqlite = requireSqlite(use.service);
  let file: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') {
      makeFolder(dirname(resolve(path)));
      closeSync(openSync(path, 'a', 0o600));
    }
    const opened = new sqlite.DatabaseSync(path);
    file = opened;
    // Another process that opens the file at the same time may hold it for a moment, longer if it replays a log.
    file.exec(WAIT_FOR_LOCKS);
    file.exec(use.pragmas);
    const close = (): void => {
      if (opened.isOpen) opened.close();
    };
    const inodeOf = (): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino;
    const inode = inodeOf();
    return { driver: setUp(file, use), isReplaced: () => inodeOf() !== inode, close };
  } catch (cause) {
    file?.close();
    const { message } = toError(cause);
    const advice = message.includes('locked')
      ? `another process held it for ${BUSY_TIMEOUT_MS / 1000} s; start again when it has let it go`
      : 'write the path of a file in a folder that exists and can be written';
    throw new ConfigurationError(`cannot use "${path}" as ${use.purpose}: ${message}; ${advice}`, { cause });
  }
}

function setUp<T>(database: DatabaseSync, use: SqliteUse<T>): T {
  database.exec(WAIT_FOR_LOCKS);
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(`PRAGMA synchronous = ${use.synchronous}`);
  const driver = use.prepare(database);
  database.exec('PRAGMA busy_timeout = 0');
  return driver;
}

/**
 * Returns `node:sqlite`, which runtimes before Node 22.13 lack. The error of a static import would name neither the
 * service nor a remedy.
 */
function requireSqlite(service: string): typeof import('node:sqlite') {
  const sqlite = process.getBuiltinModule?.('node:sqlite');
  if (sqlite !== undefined) return sqlite;
  throw new ConfigurationError(
    `${service}: needs the module node:sqlite, which this runtime (Node ${process.version}) does not have; run it with Node 22.18 or later`,
  );
}

/**
 * Creates a folder and its missing parents, with access for their owner only. An existing folder stays as it is.
 *
 * Node's `mkdir` with `recursive` never returns where a file system creates no folder, such as below `/proc`: there
 * `mkdir` fails with ENOENT although the parent exists, and Node creates the parent again and again.
 */
function makeFolder(folder: string): void {
  const parent = dirname(folder);
  let failure = tryMake(folder);
  if (failure?.code === 'ENOENT' && parent !== folder) {
    makeFolder(parent);
    failure = tryMake(folder);
  }
  if (failure && failure.code !== 'EEXIST') throw failure;
}

/** Returns the error of creating one folder. */
function tryMake(folder: string): (Error & { readonly code?: unknown }) | undefined {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return undefined;
  } catch (error) {
    return toError(error);
  }
}
