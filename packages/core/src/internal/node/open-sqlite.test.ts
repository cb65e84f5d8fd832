import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../errors.ts';
import { openSqlite, type SqlitePlace } from './open-sqlite.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a database of the service `NoteService`. The driver is the database itself. */
function open(
  place: SqlitePlace,
  prepare: (database: DatabaseSync) => DatabaseSync = (database) => database,
  pragmas = 'PRAGMA secure_delete = ON',
) {
  const names = { service: 'NoteService', purpose: 'a database of notes', example: 'notes.db' };
  return openSqlite(place, { ...names, synchronous: 'FULL', pragmas, prepare });
}

/** Returns the value of a setting of a connection. */
function pragma(database: DatabaseSync, name: string): unknown {
  return Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

test('a missing folder is created with its parents, and is private to its owner like the file', () => {
  const path = join(folder, 'a/b/notes.db');
  open({ path }).close();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (const made of ['a', 'a/b']) expect(statSync(join(folder, made)).mode & 0o777).toBe(0o700);
});

test('an existing folder keeps its access', () => {
  const { mode } = statSync(folder);
  open({ path: join(folder, 'notes.db') }).close();
  expect(statSync(folder).mode).toBe(mode);
});

test('prepare may wait for a lock, and later statements do not', () => {
  let inPrepare: unknown;
  const { driver, ...opened } = open({ path: join(folder, 'notes.db') }, (database) => {
    inPrepare = pragma(database, 'busy_timeout');
    return database;
  });
  expect(inPrepare).toBe(5000);
  const settings = ['busy_timeout', 'journal_mode', 'synchronous', 'secure_delete'];
  expect(settings.map((name) => pragma(driver, name))).toEqual([0, 'wal', 2, 1]);
  opened.close();
});

test('the first statement already waits for a lock, because other processes may open the file at the same time', () => {
  const pragmas = 'CREATE TEMP TABLE waits AS SELECT timeout FROM pragma_busy_timeout';
  const { driver, ...opened } = open({ path: join(folder, 'notes.db') }, undefined, pragmas);
  expect(driver.prepare('SELECT timeout FROM waits').get()?.['timeout']).toBe(5000);
  opened.close();
});

test('the error for a file that another process holds says to start again', () => {
  const locked = (): never => {
    throw new Error('database is locked');
  };
  expect(() => open({ path: join(folder, 'notes.db') }, locked)).toThrow(
    'database is locked; another process held it for 5 s; start again when it has let it go',
  );
});

test('close closes the file once, and leaves a database open that was given', () => {
  const file = open({ path: join(folder, 'notes.db') });
  file.close();
  file.close();
  expect(file.driver.isOpen).toBe(false);
  const database = new DatabaseSync(':memory:');
  open({ database }).close();
  expect(database.isOpen).toBe(true);
  expect(pragma(database, 'secure_delete')).toBe(0);
  database.close();
});

test('a path with a database, and neither of them, are refused without an open file', () => {
  const database = new DatabaseSync(':memory:');
  for (const place of [{}, { path: join(folder, 'notes.db'), database }])
    expect(() => open(place)).toThrow(
      new ConfigurationError("NoteService: needs either path, as in { path: 'notes.db' }, or database"),
    );
  expect(readdirSync(folder)).toEqual([]);
  database.close();
});

test('a path that cannot be opened, and a failing prepare, are refused with the path, and the file is closed', () => {
  // A file system creates no folder below /proc, whatever the parent.
  const file = join(folder, 'notes.db');
  open({ path: file }).close();
  for (const path of ['', folder, join(file, 'below/a file'), '/proc/eventloom/notes.db', '/proc/a/b/notes.db'])
    expect(() => open({ path })).toThrow(`cannot use "${path}" as a database of notes: `);
  let opened: DatabaseSync | undefined;
  const failing = (): unknown =>
    open({ path: file }, (database) => {
      opened = database;
      throw new Error('the tables are too new');
    });
  expect(failing).toThrow(ConfigurationError);
  expect(failing).toThrow(
    `cannot use "${file}" as a database of notes: the tables are too new; write the path of a file in a folder that exists and can be written`,
  );
  expect(opened?.isOpen).toBe(false);
});

test('a runtime without node:sqlite is refused with the service, the version and what to install', () => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never);
  expect(() => open({ path: join(folder, 'notes.db') })).toThrow(
    `NoteService: needs the module node:sqlite, which this runtime (Node ${process.version}) does not have; run it with Node 22.18 or later`,
  );
});
