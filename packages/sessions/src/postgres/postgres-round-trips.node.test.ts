import { createEvent, type Event, type EventParams, type Session } from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ALL_EVENTS } from '../session-view.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { PostgresSessionDriver } from './postgres-session-driver.ts';
import { PostgresSessionService } from './postgres-session-service.ts';
import { WatchedPool } from './fixtures/watched-pool.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

const { pool: connections } = useTestDatabase();
const pool = new WatchedPool(connections);

const eventOf = (id: string, params: EventParams = {}): Event =>
  createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, ...params });

describe('round trips', () => {
  let service: PostgresSessionService;
  let session: Session;
  beforeAll(async () => {
    service = new PostgresSessionService({ pool });
    session = await service.createSession(KEY);
  });
  beforeEach(() => void (pool.sent = []));

  test('an append is one statement', async () => {
    const lease = await service.acquireLease(KEY);
    const stateDelta = { own: 1, 'user:name': 'Ada', 'app:motto': 'go' };
    const changes = [{}, { stateDelta }, { removedState: ['own', 'user:name', 'app:none'] }];
    for (const [index, actions] of changes.entries()) {
      pool.sent = [];
      await service.appendEvent({ session, event: eventOf(`under a lease ${index}`, { actions }), lease });
      expect(pool.sent.length).toBe(1);
    }
    await service.releaseLease(lease);
    pool.sent = [];
    await service.appendEvent({ session, event: eventOf('without a lease') });
    expect(pool.sent.length).toBe(1);
  });

  test('a refused append is two statements', async () => {
    const old = await service.acquireLease(KEY);
    const lease = await service.acquireLease({ ...KEY, onBusy: 'interrupt' });
    await service.appendEvent({ session, event: eventOf('one'), lease });
    const gone = { ...session, incarnation: '0' };
    const refusals = [
      () => service.appendEvent({ session, event: eventOf('one'), lease }),
      () =>
        expect(async () => service.appendEvent({ session, event: eventOf('two'), lease: old })).rejects.toThrow(
          /epoch/,
        ),
      () =>
        expect(async () => service.appendEvent({ session: gone, event: eventOf('two'), lease })).rejects.toThrow(
          /deleted/,
        ),
    ];
    for (const refuse of refusals) {
      pool.sent = [];
      await refuse();
      expect(pool.sent.length).toBe(2);
    }
    await service.releaseLease(lease);
  });

  test('beginRun with a message and endRun are one statement each', async () => {
    const changes = [{}, { stateDelta: { own: 1, 'user:name': 'Ada' } }, { removedState: ['own', 'user:name'] }];
    const reads = [undefined, { numRecentEvents: 1 }, { sinceCompaction: true }];
    for (const [index, actions] of changes.entries()) {
      const run = {
        ...KEY,
        invocationId: `e-${index}`,
        resumable: true,
        requestId: `r-${index}`,
        create: index === 1,
        read: reads[index],
      };
      const begun = await service.beginRun({ ...run, message: eventOf(`message ${index}`, { actions }) });
      expect(pool.sent.length).toBe(1);
      pool.sent = [];
      await service.endRun(begun.lease, { session: begun.session, event: eventOf(`end ${index}`, { actions }) });
      expect(pool.sent.length).toBe(1);
      pool.sent = [];
    }
    expect((await service.listOpenRuns(KEY)).runs).toEqual([]);
  });

  test('beginRun that creates its session is one statement', async () => {
    const run = { ...KEY, sessionId: 'created', invocationId: 'e-1', create: true };
    const begun = await service.beginRun({ ...run, message: eventOf('message') });
    expect(pool.sent.length).toBe(1);
    expect(begun.session.lastSeq).toBe(1);
  });

  test('beginRun without a message is two statements', async () => {
    const { lease } = await service.beginRun({ ...KEY, invocationId: 'e-1', create: true });
    expect(pool.sent.length).toBe(2);
    await service.releaseLease(lease);
  });

  test('beginRun whose message is already stored is a statement and a transaction', async () => {
    const run = { ...KEY, invocationId: 'e-1', message: eventOf('again') };
    await service.releaseLease((await service.beginRun(run)).lease);
    pool.sent = [];
    await service.releaseLease((await service.beginRun(run)).lease);
    expect(pool.sent.map((query) => (query === 'connect' ? query : 'query'))).toEqual(['query', 'connect', 'query']);
  });

  test('a waiting beginRun is refused by one statement without its message, and later succeeds with two', async () => {
    const driver = new PostgresSessionDriver(new PostgresDatabase(pool));
    const nowMs = Date.now();
    const held = await service.acquireLease(KEY);
    const ticket = { id: 'ticket', sinceMs: nowMs, ttlMs: 2000 };
    const message = { event: eventOf('the message'), writes: [] };
    const lease = { nowMs, ttlMs: 1000, takeOver: false, ticket };
    const run = { invocationId: 'e-1', requestId: undefined, resumable: false, continues: false };
    const claim = { ...KEY, ...lease, ...run, create: false, window: ALL_EVENTS, message: () => message };
    expect(await driver.beginRun(claim)).toMatchObject({ status: 'busy' });
    const saysMessage = () => JSON.stringify(pool.sent).includes('the message');
    expect(saysMessage()).toBe(true);
    pool.sent = [];
    expect(await driver.beginRun(claim)).toMatchObject({ status: 'busy' });
    expect([pool.sent.length, saysMessage()]).toEqual([1, false]);
    await service.releaseLease(held);
    expect(await driver.beginRun({ ...claim, ticket: undefined })).toMatchObject({ status: 'busy' });
    pool.sent = [];
    const begun = await driver.beginRun(claim);
    expect(pool.sent.length).toBe(2);
    if (begun.status !== 'taken') expect.unreachable('the session is free');
    await service.releaseLease(begun.lease);
  });

  test('tool calls that start or end together are one statement', async () => {
    const lease = await service.acquireLease(KEY);
    const calls = ['c', 'a', 'b'].map((entryId) => ({ invocationId: 'e-1', entryId, name: 'tool' }));
    for (const status of ['started', 'finished'] as const) {
      pool.sent = [];
      await Promise.all(calls.map(async (call) => service.recordToolCall(lease, { ...call, status })));
      expect(pool.sent.length).toBe(1);
      expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual(
        calls.map((call) => ({ ...call, status })),
      );
    }
    await service.releaseLease(lease);
  });

  test('every call of a turn is one statement', async () => {
    const lease = await service.acquireLease(KEY);
    await service.renewLease(lease);
    await service.getSession({ ...KEY, config: { numRecentEvents: 10 } });
    await service.getSession({ ...KEY, config: { sinceCompaction: true } });
    await service.listEvents(KEY);
    await service.listSessions({ appName: 'app', userId: 'user' });
    await service.recordToolCall(lease, { invocationId: 'e-1', entryId: 'c', name: 'tool', status: 'started' });
    await service.listToolCalls({ ...KEY, invocationId: 'e-1' });
    await service.releaseLease(lease);
    await service.createSession({ ...KEY, sessionId: 'other', state: { own: 1 } });
    expect(pool.sent.length).toBe(10);
    expect(pool.sent).not.toContain('connect');
  });
});
