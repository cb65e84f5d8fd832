import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { bytesWrittenBy } from '../bytes-written.ts';
import type { BackEnd } from './back-end.ts';
import { TaskRunner } from './task-runner.ts';

/** Sessions in a SQLite file, with the default durability. The baseline is a table in the same file with a separate connection. */
export async function openSqlite(): Promise<BackEnd> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  const path = join(folder, 'sessions.db');
  const sessions = new SqliteSessionService({ path });
  const database = new DatabaseSync(path);
  database.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;');
  database.exec('CREATE TABLE bench_floor (seq INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT');
  const insert = database.prepare('INSERT INTO bench_floor (event) VALUES (?)');
  const tasks = new TaskRunner({ sessions, insert: (event) => void insert.run(JSON.stringify(event)) });
  return {
    name: 'SQLite',
    batch: 50,
    burst: 2000,
    perform: (task) => tasks.perform(task),
    bytesWritten: async () => bytesWrittenBy('self'),
    close: async () => {
      database.close();
      sessions.close();
      rmSync(folder, { recursive: true });
    },
  };
}
