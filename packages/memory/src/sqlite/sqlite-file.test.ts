import { ConfigurationError, createEvent, StorageError } from '@eventloom/core';
import { ManualPlatform } from '@eventloom/core/conformance';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SqliteMemoryService } from './sqlite-memory-service.ts';

const OWNER = { appName: 'app', userId: 'user' };
const KEY = { ...OWNER, sessionId: 'session' };
let folder = '';
let path = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  path = join(folder, 'memory.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function said(id: string, text: string) {
  const content = { role: 'model', parts: [{ text }] };
  return createEvent({ id, invocationId: `e-${id}`, author: 'agent', timestamp: 1, content });
}

/** Counts the rows of every table. */
function rowCounts(database: DatabaseSync): Record<string, unknown> {
  const tables = database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'eventloom%'")
    .all();
  return Object.fromEntries(
    tables.map(({ name }) => [name, database.prepare(`SELECT count(*) AS rows FROM ${String(name)}`).get()?.['rows']]),
  );
}

test('a reopened file has all memories, words and deletions', async () => {
  const first = new SqliteMemoryService({ path });
  const events = [said('one', 'red owl'), said('two', 'red wolf')];
  await first.addEventsToMemory({ ...KEY, events });
  const { memories } = await first.searchMemory({ ...OWNER, query: 'owl' });
  await first.deleteMemory({ ...OWNER, memoryId: memories[0]?.id ?? '' });
  const before = await first.searchMemory({ ...OWNER, query: 'red' });
  first.close();

  const second = new SqliteMemoryService({ path });
  await second.addEventsToMemory({ ...KEY, events });
  expect(await second.searchMemory({ ...OWNER, query: 'red' })).toEqual(before);
  expect(before.memories).toHaveLength(1);
  second.close();
});

test('two services on one file share memories, and store an event once', async () => {
  const one = new SqliteMemoryService({ path });
  const other = new SqliteMemoryService({ path });
  const events = [said('one', 'owl'), said('two', 'owl')];
  await Promise.all([one.addEventsToMemory({ ...KEY, events }), other.addEventsToMemory({ ...KEY, events })]);
  expect((await one.searchMemory({ ...OWNER, query: 'owl' })).memories).toHaveLength(2);
  expect((await other.searchMemory({ ...OWNER, query: 'owl' })).memories).toHaveLength(2);
  one.close();
  other.close();
});

test('a locked file does not block other work, and is written once it is free', async () => {
  const platform = new ManualPlatform();
  const service = new SqliteMemoryService({ path, platform });
  const stranger = new DatabaseSync(path);
  stranger.exec('BEGIN IMMEDIATE');
  let isAdded = false;
  const added = service.addEventsToMemory({ ...KEY, events: [said('one', 'owl')] }).then(() => (isAdded = true));
  expect((await service.searchMemory({ ...OWNER, query: 'owl' })).memories).toEqual([]);
  platform.advance(1000);
  expect(isAdded).toBe(false);
  stranger.exec('ROLLBACK');
  platform.advance(1000);
  await added;
  expect((await service.searchMemory({ ...OWNER, query: 'owl' })).memories).toHaveLength(1);
  stranger.close();
  service.close();
});

test('a file that stays locked is a retryable error and adds nothing', async () => {
  const platform = new ManualPlatform();
  const service = new SqliteMemoryService({ path, platform });
  const stranger = new DatabaseSync(path);
  stranger.exec('BEGIN IMMEDIATE');
  const adding = service.addEventsToMemory({ ...KEY, events: [said('one', 'owl')] });
  const failure: Promise<unknown> = adding.catch((error: unknown) => error);
  // The memories are read first.
  expect((await service.searchMemory({ ...OWNER, query: 'owl' })).memories).toEqual([]);
  platform.advance(6000);
  expect(await failure).toMatchObject({ code: StorageError.code, retryable: true });
  stranger.exec('ROLLBACK');
  expect((await service.searchMemory({ ...OWNER, query: 'owl' })).memories).toEqual([]);
  stranger.close();
  service.close();
});

test('a full disk is a retryable error that adds nothing, and reads continue', async () => {
  const database = new DatabaseSync(path);
  const service = new SqliteMemoryService({ database });
  await service.addEventsToMemory({ ...KEY, events: [said('one', 'owl')] });
  database.exec('PRAGMA max_page_count = 1');
  const events = [said('two', 'owl'), said('large', 'heron '.repeat(10_000))];
  const failure: unknown = await service.addEventsToMemory({ ...KEY, events }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  expect((await service.searchMemory({ ...OWNER, query: 'owl' })).memories).toHaveLength(1);
  database.exec('PRAGMA max_page_count = 1000000');
  await service.addEventsToMemory({ ...KEY, events });
  expect((await service.searchMemory({ ...OWNER, query: 'owl' })).memories).toHaveLength(2);
  database.close();
});

test('deleting removes all rows, and the words from the file', async () => {
  const service = new SqliteMemoryService({ path });
  const database = new DatabaseSync(path);
  const before = rowCounts(database);
  await service.addEventsToMemory({ ...KEY, events: [said('one', 'hoopoe nests'), said('two', 'hoopoe flies')] });
  const { memories } = await service.searchMemory({ ...OWNER, query: 'nests' });
  await service.deleteMemory({ ...OWNER, memoryId: memories[0]?.id ?? '' });
  expect(rowCounts(database)).toMatchObject({ eventloom_memories: 1, eventloom_memory_words: 2 });
  await service.deleteMemories(OWNER);
  expect(rowCounts(database)).toEqual(before);
  database.close();
  service.close();
  expect(readFileSync(path).includes('hoopoe')).toBe(false);
});

test('a missing folder is created, and new folders and files are private to their owner', async () => {
  path = join(folder, 'a', 'b', 'memory.db');
  const service = new SqliteMemoryService({ path });
  await service.addEventsToMemory({ ...KEY, events: [said('one', 'owl')] });
  for (const file of [path, `${path}-wal`]) expect(statSync(file).mode & 0o777).toBe(0o600);
  for (const made of [join(folder, 'a'), join(folder, 'a', 'b')]) expect(statSync(made).mode & 0o777).toBe(0o700);
  service.close();
  expect(existsSync(path)).toBe(true);
});

test('a file that is not a database is refused with its path', () => {
  writeFileSync(path, 'this is not a database, but it is long enough to have a header of a hundred bytes. '.repeat(9));
  for (const bad of [path, folder, join(path, 'below a file')]) {
    expect(() => new SqliteMemoryService({ path: bad })).toThrow(ConfigurationError);
    expect(() => new SqliteMemoryService({ path: bad })).toThrow(bad);
  }
  expect(() => new SqliteMemoryService({ path: '' })).toThrow('cannot use "" as a memory database');
});

test.each(['memory.schema', 'memory.words'])(
  'a file whose %s is of a newer version is refused and not changed',
  (key) => {
    new SqliteMemoryService({ path }).close();
    const database = new DatabaseSync(path);
    database.prepare('UPDATE eventloom_meta SET value = 99 WHERE key = ?').run(key);
    expect(() => new SqliteMemoryService({ path })).toThrow(/version 99/);
    expect(() => new SqliteMemoryService({ database })).toThrow(ConfigurationError);
    expect(database.prepare('SELECT value FROM eventloom_meta WHERE key = ?').get(key)?.['value']).toBe(99);
    database.close();
  },
);

test.each([
  ['of an older version', "UPDATE eventloom_meta SET value = value - 1 WHERE key = 'memory.words'"],
  ['from before it had versions', "DELETE FROM eventloom_meta WHERE key = 'memory.words'"],
])('a word index %s is rebuilt once', async (_, ages) => {
  const first = new SqliteMemoryService({ path });
  await first.addEventsToMemory({ ...KEY, events: [said('one', 'un café'), said('two', 'owl')] });
  await first.addEventsToMemory({ ...KEY, userId: 'other', events: [said('three', 'le café')] });
  first.close();
  const database = new DatabaseSync(path);
  const indexed = (): unknown => database.prepare('SELECT user, word, memory FROM eventloom_memory_words').all();
  const before = indexed();
  database.exec(`UPDATE eventloom_memory_words SET word = 'café' WHERE word = 'cafe'; ${ages}`);
  expect(indexed()).not.toEqual(before);

  const second = new SqliteMemoryService({ path });
  expect(indexed()).toEqual(before);
  for (const userId of ['user', 'other']) {
    expect((await second.searchMemory({ ...OWNER, userId, query: 'cafe' })).memories).toHaveLength(1);
  }
  second.close();
  database.exec("UPDATE eventloom_memory_words SET word = 'mine' WHERE word = 'owl'");
  new SqliteMemoryService({ path }).close();
  expect(indexed()).not.toEqual(before);
  database.close();
});

test('a given database keeps its other tables and stays open', async () => {
  const database = new DatabaseSync(path);
  database.exec('CREATE TABLE mine (id INTEGER PRIMARY KEY); INSERT INTO mine VALUES (7); PRAGMA user_version = 5');
  const service = new SqliteMemoryService({ database });
  await service.addEventsToMemory({ ...KEY, events: [said('one', 'owl')] });
  service.close();
  expect(database.prepare('SELECT id FROM mine').get()?.['id']).toBe(7);
  expect(database.prepare('PRAGMA user_version').get()?.['user_version']).toBe(5);
  const again = new SqliteMemoryService({ database });
  expect((await again.searchMemory({ ...OWNER, query: 'owl' })).memories).toHaveLength(1);
  database.close();
});

test('a path with a database, and neither of them, are refused', () => {
  expect(() => new SqliteMemoryService({})).toThrow(ConfigurationError);
  expect(() => new SqliteMemoryService({ path, database: new DatabaseSync(':memory:') })).toThrow(ConfigurationError);
});
