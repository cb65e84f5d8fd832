import { createEvent, type GetSessionConfig, type Platform } from '@eventloom/core';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { InMemorySessionService } from '../in-memory-session-service.ts';
import { SqliteSessionService } from './sqlite-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

/** Returns numbers from 0 to below `end`, the same ones in every run. */
function randomNumbers(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * end);
  };
}

/** A clock that can be set, also backwards. */
class SettablePlatform extends ManualPlatform implements Platform {
  nowMs = 1_000_000_000;
  override now(): number {
    return this.nowMs;
  }
}

function event(number: number, timestamp: number, endTimestamp?: number) {
  const compaction = endTimestamp === undefined ? undefined : { startTimestamp: 0, endTimestamp, compactedContent: {} };
  const actions = compaction ? { compaction } : {};
  return createEvent({ id: `event ${number}`, invocationId: 'e-1', author: 'agent', timestamp, actions });
}

test.for([1, 2, 3, 4])('windows equal those of the in-memory service for random timestamps (seed %i)', async (seed) => {
  const random = randomNumbers(seed);
  const isOrdered = seed % 2 === 0;
  const services = [new SqliteSessionService({ path: ':memory:' }), new InMemorySessionService()];
  const sessions = await Promise.all(services.map((service) => service.createSession(KEY)));
  const count = 150;
  for (let number = 1; number <= count; number++) {
    const timestamp = isOrdered ? Math.ceil(number / 2) : 1 + random(count);
    const appended = event(number, timestamp, random(20) === 0 ? 1 + random(count / 2) : undefined);
    for (const [index, service] of services.entries()) {
      const session = sessions[index];
      if (session) await service.appendEvent({ session, event: appended });
    }
  }
  const maybe = (end: number): number | undefined => (random(2) ? random(end) : undefined);
  for (let round = 0; round < 300; round++) {
    const config: GetSessionConfig = {
      numRecentEvents: random(3) ? random(100) : undefined,
      afterSeq: maybe(count),
      beforeSeq: maybe(count + 10),
      afterTimestamp: maybe(count),
      sinceCompaction: random(2) === 0,
    };
    const [found, expected] = await Promise.all(
      services.map(async (service) => service.getSession({ ...KEY, config })),
    );
    expect({ config, ids: found?.events.map(({ id }) => id) }).toEqual({
      config,
      ids: expected?.events.map(({ id }) => id),
    });
  }
});

test('sinceCompaction reads no events before the compaction', async () => {
  const database = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database });
  const session = await service.createSession(KEY);
  for (let number = 1; number <= 200; number++) {
    await service.appendEvent({ session, event: event(number, number, number === 190 ? 185 : undefined) });
  }
  // These rows cannot be parsed, so the test fails if they are read.
  database.exec(
    "UPDATE eventloom_events SET event = 'unreadable' WHERE event_id < 'event 186' AND length(event_id) = 9",
  );
  database.exec("UPDATE eventloom_events SET event = 'unreadable' WHERE length(event_id) < 9");
  await expect(async () => service.getSession(KEY)).rejects.toThrow();
  const since = await service.getSession({ ...KEY, config: { sinceCompaction: true } });
  expect(since?.events.map(({ id }) => id)).toEqual(Array.from({ length: 15 }, (_, index) => `event ${index + 186}`));
  const after = await service.getSession({ ...KEY, config: { afterTimestamp: 186, numRecentEvents: 100 } });
  expect(after?.events.length).toBe(15);
});

test('afterTimestamp reads few other events, even if an early event has a late timestamp', async () => {
  const database = new DatabaseSync(':memory:');
  const service = new SqliteSessionService({ database });
  const session = await service.createSession(KEY);
  for (let number = 1; number <= 200; number++) {
    const timestamp = number === 3 ? 1000 : number;
    await service.appendEvent({ session, event: event(number, timestamp, number === 190 ? 185 : undefined) });
  }
  database.exec(
    `UPDATE eventloom_events SET event = 'unreadable'
    WHERE event_id <> 'event 3' AND CAST(substr(event_id, 7) AS INTEGER) < 186`,
  );
  await expect(async () => service.getSession(KEY)).rejects.toThrow();
  const newest = Array.from({ length: 15 }, (_, index) => `event ${index + 186}`);
  const idsWith = async (config: GetSessionConfig): Promise<string[] | undefined> =>
    (await service.getSession({ ...KEY, config }))?.events.map(({ id }) => id);
  expect(await idsWith({ sinceCompaction: true })).toEqual(['event 3', ...newest]);
  expect(await idsWith({ afterTimestamp: 186 })).toEqual(['event 3', ...newest]);
  expect(await idsWith({ afterTimestamp: 186, numRecentEvents: 5 })).toEqual(newest.slice(-5));
  expect(await idsWith({ sinceCompaction: true, afterTimestamp: 199, numRecentEvents: 15 })).toEqual([
    'event 3',
    ...newest.slice(-2),
  ]);
});

test('a page of a listing is limited by the size of its state', async () => {
  const service = new SqliteSessionService({ path: ':memory:' });
  const large = 'x'.repeat(5 * 1024 * 1024);
  const ids = Array.from({ length: 9 }, (_, index) => `session ${index}`);
  for (const sessionId of ids) await service.createSession({ ...KEY, sessionId, state: { large } });
  const pages = await listAll(service, 'user', 1000);
  expect(pages.map(({ length }) => length)).toEqual([4, 4, 1]);
  expect(
    pages
      .flat()
      .map((line) => line.split(' ').slice(1, 3).join(' '))
      .sort(),
  ).toEqual(ids);
});

test('a page of events is limited by their size, in both orders', async () => {
  const service = new SqliteSessionService({ path: ':memory:' });
  const session = await service.createSession(KEY);
  const text = 'x'.repeat(5 * 1024 * 1024);
  for (let number = 0; number < 5; number++)
    await service.appendEvent({ session, event: { ...event(number, 1), content: { parts: [{ text }] } } });
  for (const [order, expected] of [
    ['asc', ['012', '34']],
    ['desc', ['432', '10']],
  ] as const) {
    const pages: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await service.listEvents({ ...KEY, order, cursor });
      pages.push(page.events.map(({ id }) => id.slice('event '.length)).join(''));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(pages).toEqual(expected);
  }
});

test('shared state is read once per page', async () => {
  const service = new SqliteSessionService({ path: ':memory:' });
  const shared = 'x'.repeat(3 * 1024 * 1024);
  await service.createSession({ ...KEY, state: { 'app:shared': shared, 'user:shared': shared, own: 0 } });
  for (let own = 1; own < 20; own++) await service.createSession({ ...KEY, sessionId: `${own}`, state: { own } });
  await service.createSession({ ...KEY, userId: 'stranger' });
  const { sessions, nextCursor } = await service.listSessions({ appName: 'app' });
  expect(nextCursor).toBeUndefined();
  expect(sessions.length).toBe(21);
  for (const { state, userId } of sessions) {
    expect(state['app:shared']).toBe(shared);
    expect(state['user:shared']).toBe(userId === 'user' ? shared : undefined);
  }
  expect(new Set(sessions.map(({ state }) => state['own'])).size).toBe(21);
});

test.for([1, 2, 3])('listings equal those of the in-memory service for random clocks (seed %i)', async (seed) => {
  const random = randomNumbers(seed);
  const platform = new SettablePlatform();
  const services = [new SqliteSessionService({ path: ':memory:', platform }), new InMemorySessionService({ platform })];
  const keys = Array.from({ length: 40 }, (_, index) => ({
    ...KEY,
    userId: `user ${index % 3}`,
    sessionId: `${index}`,
  }));
  for (const key of keys) {
    platform.nowMs += random(20_000);
    for (const service of services) await service.createSession(key);
  }
  let number = 0;
  for (let round = 0; round < 120; round++) {
    platform.nowMs += random(8) === 0 ? -random(300_000) : random(40_000);
    const key = keys[random(keys.length)];
    if (!key) continue;
    const isLeased = random(2) === 0;
    const moments = Array.from({ length: 1 + random(3) }, () => platform.nowMs + random(200_000) - 100_000);
    for (const service of services) {
      const session = await service.getOrCreateSession(key);
      const lease = isLeased ? await service.acquireLease({ ...key, onBusy: 'interrupt' }) : undefined;
      for (const [index, nowMs] of moments.entries()) {
        platform.nowMs = nowMs;
        await service.appendEvent({ session, event: event(number + index, 1), lease });
      }
      if (lease) await service.releaseLease(lease);
    }
    number += moments.length;
    if (round % 10 !== 0) continue;
    for (const userId of [undefined, 'user 1']) {
      const [found, expected] = await Promise.all(services.map((service) => listAll(service, userId, 1 + (round % 7))));
      expect(found).toEqual(expected);
    }
  }
});

async function listAll(
  service: SqliteSessionService | InMemorySessionService,
  userId: string | undefined,
  limit: number,
): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await service.listSessions({ appName: 'app', userId, limit, cursor });
    pages.push(page.sessions.map((session) => `${session.userId} ${session.id} ${session.lastUpdateTime}`));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return pages;
}
