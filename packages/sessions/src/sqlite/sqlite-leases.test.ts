import { createEvent, type Platform, SessionBusyError } from '@eventloom/core';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { settle } from '../conformance/samples.ts';
import { watch } from '../conformance/watched-promise.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
let path = '';
const opened: { close(): void }[] = [];
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'eventloom-')), 'sessions.db');
});
afterEach(() => {
  for (const each of opened.splice(0)) each.close();
  rmSync(join(path, '..'), { recursive: true, force: true });
});

function open(platform: Platform): SqliteSessionService {
  const service = new SqliteSessionService({ path, platform });
  opened.push(service);
  return service;
}

async function pass(platform: ManualPlatform, totalMs: number): Promise<void> {
  for (let passed = 0; passed < totalMs; passed += 25) {
    platform.advance(25);
    await settle();
  }
}

test('the queue position of a dead process is kept for one to two seconds', async () => {
  const platform = new ManualPlatform();
  const gone = Object.assign(new ManualPlatform(), { newUuid: () => 'an id that nobody else has' });
  const service = open(platform);
  await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  void open(gone).acquireLease(KEY);
  platform.advance(1);
  const waiting = watch(service.acquireLease(KEY));
  await Promise.all([pass(platform, 1900), pass(gone, 1900)]);
  // From now on its clock stands still, so it never asks again.
  await service.releaseLease(lease);
  await pass(platform, 950);
  expect(waiting.state).toBe('waiting');
  await pass(platform, 1100);
  expect(waiting.state).toBe('fulfilled');
});

test('a released session goes to the first waiting process within 25 ms', async () => {
  const platform = new ManualPlatform();
  const [one, other] = [open(platform), open(platform)];
  await one.createSession(KEY);
  const lease = await one.acquireLease(KEY);
  const waiting = watch(other.acquireLease(KEY));
  await pass(platform, 2000);
  await one.releaseLease(lease);
  await settle();
  expect(waiting.state).toBe('waiting');
  await pass(platform, 25);
  expect(waiting.state).toBe('fulfilled');
});

test('a waiting process polls often and writes rarely', async () => {
  const platform = new ManualPlatform();
  const service = open(platform);
  await service.createSession(KEY);
  await service.acquireLease(KEY);
  const database = new DatabaseSync(path);
  opened.push(database);
  const waiting = watch(new SqliteSessionService({ database, platform }).acquireLease({ ...KEY, waitMs: 9000 }));
  const changes = () => Number(database.prepare('SELECT total_changes() AS changes').get()?.['changes']);
  const before = changes();
  await pass(platform, 8000);
  expect(changes() - before).toBeLessThan(10);
  expect(changes() - before).toBeGreaterThan(3);
  await pass(platform, 1100);
  await expect(waiting.promise).rejects.toThrow(SessionBusyError);
});

test('a lease given after a clock correction expires in its time', async () => {
  let nowMs = 1_000_000;
  const platform: Platform = Object.assign(new ManualPlatform(), { now: () => nowMs });
  const service = open(platform);
  const session = await service.createSession(KEY);
  nowMs += 1_000_000;
  await service.appendEvent({ session, event: createEvent({ id: 'ahead', author: 'agent', timestamp: 1 }) });
  nowMs -= 1_000_000;
  await service.beginRun({ ...KEY, ttlMs: 1000, invocationId: 'e-1' });
  expect((await service.listOpenRuns({ appName: 'app' })).runs[0]?.heldUntilMs).toBe(nowMs + 1000);
  nowMs += 999;
  await expect(service.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
  nowMs += 1;
  await service.acquireLease({ ...KEY, ttlMs: 1000, onBusy: 'reject' });
  nowMs += 1000;
  await service.appendEvent({ session, event: createEvent({ id: 'behind', author: 'agent', timestamp: 1 }) });
  expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['ahead', 'behind']);
});

test('a run is refused while a claim of another process is queued before it', async () => {
  const platform = new ManualPlatform();
  const gone = Object.assign(new ManualPlatform(), { newUuid: () => 'an id that nobody else has' });
  const service = open(platform);
  await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  void open(gone).acquireLease(KEY);
  await settle();
  // From now on the clock of the other process stands still, so its claim is not granted.
  await service.releaseLease(lease);
  const begin = async () => service.beginRun({ ...KEY, invocationId: 'e-1', onBusy: 'reject' });
  await expect(begin()).rejects.toThrow(SessionBusyError);
  await pass(platform, 2000);
  expect((await begin()).lease.invocationId).toBe('e-1');
});
