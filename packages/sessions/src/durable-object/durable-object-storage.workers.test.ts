import { ConfigurationError, createEvent, SessionBusyError, StaleWriterError } from '@eventloom/core';
import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, type DurableObjectStub, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { ManualPlatform } from '../conformance/index.ts';
import { DurableObjectSessionService } from './durable-object-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const platform = new ManualPlatform();

function newObject(): DurableObjectStub {
  return env.STORAGE.get(env.STORAGE.newUniqueId());
}

/** Runs work inside an object, with a new service. */
function inObject<R>(
  stub: DurableObjectStub,
  work: (service: DurableObjectSessionService, storage: DurableObjectStorage) => Promise<R>,
): Promise<R> {
  return runInDurableObject(stub, (_instance, { storage }) =>
    work(new DurableObjectSessionService({ storage, platform }), storage),
  );
}

function event(id: string, stateDelta: Record<string, unknown> = {}) {
  return createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, actions: { stateDelta } });
}

/** Counts the rows of every table. */
function rowCounts({ sql }: DurableObjectStorage): Record<string, number> {
  const tables = sql.exec<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'eventloom%'",
  );
  return Object.fromEntries(
    tables
      .toArray()
      .map(({ name }) => [name, sql.exec<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`).one().rows]),
  );
}

test('an evicted object keeps events, state, lease and ledger', async () => {
  const stub = newObject();
  const call = {
    invocationId: 'e-1',
    entryId: 'call',
    name: 'tool',
    status: 'finished',
    response: { ok: true },
  } as const;
  const { session, lease, before } = await inObject(stub, async (service) => {
    const session = await service.createSession({ ...KEY, state: { own: 1, 'app:motto': 'go' } });
    const lease = await service.acquireLease(KEY);
    await service.appendEvent({ session, event: event('one', { 'user:name': 'Ada' }), lease });
    await service.recordToolCall(lease, call);
    return { session, lease, before: await service.getSession(KEY) };
  });
  await evictDurableObject(stub);
  await inObject(stub, async (service) => {
    expect(await service.getSession(KEY)).toEqual(before);
    expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([call]);
    await expect(service.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    await service.appendEvent({ session, event: event('two'), lease });
    expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one', 'two']);
  });
});

test('deleting a session deletes all its rows', () =>
  inObject(newObject(), async (service, storage) => {
    const before = rowCounts(storage);
    expect(Object.keys(before).length).toBeGreaterThan(5);
    const session = await service.createSession({ ...KEY, state: { own: 1 } });
    const lease = await service.acquireLease(KEY);
    await service.appendEvent({ session, event: event('one', { more: 1 }), lease });
    await service.recordToolCall(lease, { invocationId: 'e-1', entryId: 'call', name: 'tool', status: 'started' });
    expect(rowCounts(storage)).not.toEqual(before);
    await service.deleteSession(KEY);
    expect(rowCounts(storage)).toEqual(before);
  }));

test('an object of a newer version is refused and not changed', () =>
  inObject(newObject(), async (_service, storage) => {
    storage.sql.exec("UPDATE eventloom_meta SET value = 99 WHERE key = 'sessions.schema'");
    expect(() => new DurableObjectSessionService({ storage })).toThrow(ConfigurationError);
    expect(() => new DurableObjectSessionService({ storage })).toThrow(/version 99/);
    const version = storage.sql.exec("SELECT value FROM eventloom_meta WHERE key = 'sessions.schema'").one();
    expect(version['value']).toBe(99);
  }));

test('other tables of the object are not touched', async () => {
  const stub = newObject();
  await runInDurableObject(stub, (_instance, { storage }) => {
    storage.sql.exec('CREATE TABLE mine (id INTEGER PRIMARY KEY); INSERT INTO mine VALUES (7)');
  });
  await inObject(stub, async (service, { sql }) => {
    await service.createSession(KEY);
    await service.deleteSession(KEY);
    expect(sql.exec('SELECT id FROM mine').toArray()).toEqual([{ id: 7 }]);
  });
});

test('a second service on the same storage sees the same sessions and leases', () =>
  inObject(newObject(), async (service, storage) => {
    const session = await service.createSession(KEY);
    const lease = await service.acquireLease(KEY);
    const other = new DurableObjectSessionService({ storage, platform });
    await expect(other.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    const taken = await other.acquireLease({ ...KEY, onBusy: 'interrupt' });
    await other.appendEvent({ session, event: event('one'), lease: taken });
    await expect(async () => service.appendEvent({ session, event: event('two'), lease })).rejects.toThrow('lease');
    expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one']);
  }));

test('a session locked by an evicted instance is free immediately, and that instance is a stale writer', async () => {
  await inObject(newObject(), async (service) => {
    const session = await service.createSession(KEY);
    const held = await service.acquireLease({ ...KEY, ttlMs: 10_000 });
    await expect(service.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
    service.abandonLeases();
    await service.acquireLease({ ...KEY, onBusy: 'reject' });
    await expect(async () => service.appendEvent({ session, event: event('late'), lease: held })).rejects.toThrow(
      StaleWriterError,
    );
  });
});

test('the start of a repeated attempt is durable before its lease is returned, and that of a first attempt when the object answers', () =>
  inObject(newObject(), async (service, storage) => {
    const steps: string[] = [];
    const watched = {
      sql: { exec: (query: string, ...bindings: (null | number | string)[]) => storage.sql.exec(query, ...bindings) },
      transactionSync: <T>(write: () => T) => storage.transactionSync(write),
      sync: async () => {
        await storage.sync();
        steps.push('durable');
      },
    };
    await service.createSession(KEY);
    const attempt = async (): Promise<void> => {
      const next = new DurableObjectSessionService({ storage: watched, platform });
      next.abandonLeases();
      await next.beginRun({ ...KEY, invocationId: 'e-1', resumable: true });
      steps.push('given');
    };
    await attempt();
    await attempt();
    expect(steps).toEqual(['given', 'durable', 'given']);
    const next = new DurableObjectSessionService({ storage: watched, platform });
    next.abandonLeases();
    await next.beginRun({ ...KEY, invocationId: 'e-1', resumable: true });
    steps.push('begun');
    expect(steps.slice(3)).toEqual(['durable', 'begun']);
  }));
