import { createEvent, SessionBusyError } from '@eventloom/core';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { passTime, settle } from '../conformance/samples.ts';
import { watch } from '../conformance/watched-promise.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const OTHER_KEY = { ...KEY, sessionId: 'other' };
let folder = '';
let platform: ManualPlatform;
let service: SqliteSessionService;
let stranger: DatabaseSync;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const path = join(folder, 'sessions.db');
  platform = new ManualPlatform();
  service = new SqliteSessionService({ path, platform });
  stranger = new DatabaseSync(path);
});
afterEach(() => {
  stranger.close();
  service.close();
  rmSync(folder, { recursive: true, force: true });
});

function event(id: string, stateDelta: Record<string, unknown> = {}) {
  return createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, actions: { stateDelta } });
}

test('writes wait while another process locks the file, and run in order', async () => {
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  stranger.exec('BEGIN IMMEDIATE');
  const writes = [
    service.appendEvent({ session, event: event('one'), lease }),
    service.appendEvent({ session, event: event('two', { own: 2 }), lease }),
    service.createSession(OTHER_KEY),
    service.recordToolCall(lease, { invocationId: 'e-1', entryId: 'call', name: 'tool', status: 'started' }),
    service.appendEvent({ session, event: event('three', { own: 3 }), lease }),
    service.renewLease(lease),
    service.deleteSession(OTHER_KEY),
    service.releaseLease(lease),
    service.acquireLease(KEY),
  ].map((answer) => watch<unknown>(Promise.resolve(answer)));
  await passTime({ platform }, 4000, Promise.race(writes.map(({ promise }) => promise)));
  expect(new Set(writes.map(({ state }) => state))).toEqual(new Set(['waiting']));
  stranger.exec('COMMIT');
  await passTime({ platform }, 100, Promise.allSettled(writes.map(({ promise }) => promise)));
  expect(new Set(writes.map(({ state }) => state))).toEqual(new Set(['fulfilled']));
  const stored = await service.getSession(KEY);
  expect(stored?.events.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
  expect({ ...stored?.state }).toEqual({ own: 3 });
  expect(await service.getSession(OTHER_KEY)).toBeUndefined();
  await expect(service.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
});

test('reads continue while writes wait', async () => {
  const session = await service.createSession(KEY);
  stranger.exec('BEGIN IMMEDIATE');
  const append = watch(Promise.resolve(service.appendEvent({ session, event: event('one') })));
  expect(await service.getSession(KEY)).toEqual({ ...session, events: [] });
  expect((await service.listSessions({ appName: 'app' })).sessions.length).toBe(1);
  expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([]);
  expect(append.state).toBe('waiting');
  stranger.exec('COMMIT');
  await passTime({ platform }, 100, append.promise);
  await append.promise;
});

test('a file locked for five seconds is a retryable StorageError, and the service works afterwards', async () => {
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  stranger.exec('BEGIN IMMEDIATE');
  const first = watch(Promise.resolve(service.appendEvent({ session, event: event('one'), lease })));
  platform.advance(2500);
  await settle();
  const second = watch(Promise.resolve(service.appendEvent({ session, event: event('two', { own: 1 }), lease })));
  await passTime({ platform }, 2400, first.promise);
  expect(first.state).toBe('waiting');
  await passTime({ platform }, 200, first.promise);
  await expect(first.promise).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  expect(second.state).toBe('waiting');
  await passTime({ platform }, 2600, second.promise);
  await expect(second.promise).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  stranger.exec('ROLLBACK');
  expect(await service.getSession(KEY)).toEqual(session);
  await service.appendEvent({ session, event: event('three', { own: 1 }), lease });
  expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['three']);
});

test('a full disk is an immediate retryable StorageError that changes nothing, and reads continue', async () => {
  const database = new DatabaseSync(join(folder, 'full.db'));
  const full = new SqliteSessionService({ database });
  const session = await full.createSession(KEY);
  const lease = await full.acquireLease(KEY);
  await full.appendEvent({ session, event: event('one'), lease });
  database.exec('PRAGMA max_page_count = 1');
  const large = { content: { role: 'model', parts: [{ text: 'x'.repeat(100_000) }] } };
  for (const delta of [{}, { own: 1 }]) {
    const append = async () => full.appendEvent({ session, event: { ...event('two', delta), ...large }, lease });
    await expect(append()).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect((await full.getSession(KEY))?.lastSeq).toBe(1);
  }
  database.exec('PRAGMA max_page_count = 1000000');
  await full.appendEvent({ session, event: { ...event('two', { own: 1 }), ...large }, lease });
  expect((await full.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one', 'two']);
  expect(session.events.map(({ id }) => id)).toEqual(['one', 'two']);
  database.close();
});
