import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualPlatform } from '../../conformance/manual-platform.ts';
import { LockLine } from './lock-line.ts';

let folder = '';
let database: DatabaseSync;
let stranger: DatabaseSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const path = join(folder, 'test.db');
  database = new DatabaseSync(path, { timeout: 0 });
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER)');
  stranger = new DatabaseSync(path);
});
afterEach(() => {
  stranger.close();
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

function count(): unknown {
  return database.prepare('SELECT count(*) AS count FROM numbers').get()?.['count'];
}

test('a lock line runs work immediately if the file is not locked', () => {
  const line = new LockLine('the database', new ManualPlatform());
  expect(line.read(() => 1)).toBe(1);
  expect(line.write(() => 2)).toBe(2);
  expect(() => line.write(() => database.exec('nonsense'))).toThrow('nonsense');
});

test('a lock line retries after SQLITE_BUSY_SNAPSHOT, when another process wrote between a read and the following write', async () => {
  const platform = new ManualPlatform();
  const line = new LockLine('the database', platform);
  const codes: unknown[] = [];
  let isDisturbed = true;
  const work = (): unknown => {
    database.exec('BEGIN');
    try {
      const before = count();
      if (isDisturbed) stranger.exec('INSERT INTO numbers VALUES (1)');
      isDisturbed = false;
      database.exec('INSERT INTO numbers VALUES (2)');
      database.exec('COMMIT');
      return before;
    } catch (error) {
      codes.push(error instanceof Error && 'errcode' in error && error.errcode);
      database.exec('ROLLBACK');
      throw error;
    }
  };
  const answer = line.write(work);
  expect(codes).toEqual([517]);
  platform.advance(1);
  expect(await answer).toBe(1);
  expect(count()).toBe(2);
});

test('a lock line rejects work that fails for another reason once the lock is released, and runs the work after it', async () => {
  const platform = new ManualPlatform();
  const line = new LockLine('the database', platform);
  stranger.exec('BEGIN IMMEDIATE');
  const insert = (number: number): void => database.exec(`INSERT INTO numbers VALUES (${number})`);
  const answers = [
    line.write(() => insert(1)),
    line.write(() => database.exec('nonsense')),
    line.write(() => insert(3)),
  ];
  stranger.exec('COMMIT');
  // New work waits behind earlier work, although the lock is released.
  answers.push(line.write(() => insert(4)));
  platform.advance(1);
  const ends = await Promise.allSettled(answers.map(async (answer) => answer));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  await expect(answers[1]).rejects.toThrow('nonsense');
  expect(database.prepare('SELECT number FROM numbers ORDER BY rowid').all()).toEqual([
    { number: 1 },
    { number: 3 },
    { number: 4 },
  ]);
});
