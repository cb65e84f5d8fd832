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

test.each([
  ['without an event', []],
  ['with an event', [createEvent({ id: 'ahead', author: 'agent', timestamp: 1 })]],
])(
  'a session that a killed process held while its clock was ahead is free after one lease, %s',
  async (_title, events) => {
    const platform = new ManualPlatform();
    const ahead = Object.assign(new ManualPlatform(), { now: () => platform.now() + 3_600_000 });
    const killed = open(ahead);
    await killed.createSession(KEY);
    const { lease, session } = await killed.beginRun({ ...KEY, ttlMs: 1000, invocationId: 'e-1', resumable: true });
    for (const event of events) await killed.appendEvent({ session, event, lease });
    const service = open(platform);
    const waiting = watch(
      Promise.resolve(service.beginRun({ ...KEY, ttlMs: 1000, invocationId: 'e-1', continues: true })),
    );
    await pass(platform, 900);
    expect(waiting.state).toBe('waiting');
    await pass(platform, 200);
    expect(waiting.state).toBe('fulfilled');
  },
);

test('a session whose holder lives stays locked when the clock is set back', async () => {
  const platform = new ManualPlatform();
  let aheadMs = 3_600_000;
  const holder = open(Object.assign(new ManualPlatform(), { now: () => platform.now() + aheadMs }));
  const session = await holder.createSession(KEY);
  const lease = await holder.acquireLease({ ...KEY, ttlMs: 1000 });
  aheadMs = 0;
  const waiting = watch(open(platform).acquireLease({ ...KEY, ttlMs: 1000 }));
  await pass(platform, 500);
  await holder.renewLease(lease);
  await pass(platform, 900);
  const event = createEvent({ id: 'an event', author: 'agent', timestamp: 1 });
  await holder.appendEvent({ session, event, lease });
  await pass(platform, 900);
  expect(waiting.state).toBe('waiting');
  await pass(platform, 200);
  expect(waiting.state).toBe('fulfilled');
});

test('an append without a lease is stored after one lease of a killed process whose clock was ahead', async () => {
  const platform = new ManualPlatform();
  const killed = open(Object.assign(new ManualPlatform(), { now: () => platform.now() + 3_600_000 }));
  const session = await killed.createSession(KEY);
  await killed.acquireLease({ ...KEY, ttlMs: 1000 });
  const event = createEvent({ id: 'an event', author: 'user', timestamp: 1 });
  const waiting = watch(Promise.resolve(open(platform).appendEvent({ session, event })));
  await pass(platform, 900);
  expect(waiting.state).toBe('waiting');
  await pass(platform, 500);
  expect(waiting.state).toBe('fulfilled');
});

test('the queue position of a killed process whose clock was ahead is not kept', async () => {
  const platform = new ManualPlatform();
  const gone = Object.assign(new ManualPlatform(), {
    now: () => platform.now() + 3_600_000,
    newUuid: () => 'an id that nobody else has',
  });
  const service = open(platform);
  await service.createSession(KEY);
  await service.acquireLease({ ...KEY, ttlMs: 1e9 });
  void open(gone).acquireLease({ ...KEY, ttlMs: 1000, waitMs: 100_000 });
  const waiting = watch(service.acquireLease({ ...KEY, ttlMs: 1000, onBusy: 'interrupt' }));
  await pass(platform, 100);
  expect(waiting.state).toBe('fulfilled');
  const lease = await waiting.promise;
  await service.releaseLease(lease);
  await service.acquireLease({ ...KEY, onBusy: 'reject' });
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
