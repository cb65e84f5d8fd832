import { createEvent, type Event, type EventParams, type Session } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresPool, PostgresQuery } from './postgres-pool.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

let database: TestDatabase;

let connections: Pool;

/** What was sent since the test began, each a round trip. Whoever takes a connection out is counted as well. */
let sent: (PostgresQuery | 'connect')[] = [];

const pool: PostgresPool = {
  query: (query) => {
    sent.push(query);
    return connections.query(query);
  },
  connect: () => {
    sent.push('connect');
    return connections.connect();
  },
};

const eventOf = (id: string, params: EventParams = {}): Event =>
  createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, ...params });

beforeAll(async () => {
  database = await createTestDatabase();
  connections = new Pool({ connectionString: database.url });
});

afterAll(async () => {
  await connections.end();
  await database.drop();
});

describe('round trips', () => {
  let service: PostgresSessionService;
  let session: Session;
  beforeAll(async () => {
    service = new PostgresSessionService({ pool });
    session = await service.createSession(KEY);
  });
  beforeEach(() => void (sent = []));

  test('an append is one statement, whatever it writes', async () => {
    const lease = await service.acquireLease(KEY);
    const stateDelta = { own: 1, 'user:name': 'Ada', 'app:motto': 'go' };
    const changes = [{}, { stateDelta }, { removedState: ['own', 'user:name', 'app:none'] }];
    for (const [index, actions] of changes.entries()) {
      sent = [];
      await service.appendEvent({ session, event: eventOf(`under a lease ${index}`, { actions }), lease });
      expect(sent.length).toBe(1);
    }
    await service.releaseLease(lease);
    sent = [];
    await service.appendEvent({ session, event: eventOf('without a lease') });
    expect(sent.length).toBe(1);
  });

  test('an append that is refused is two statements', async () => {
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
      sent = [];
      await refuse();
      expect(sent.length).toBe(2);
    }
    await service.releaseLease(lease);
  });

  test('the end of a run is one statement, whatever it writes, and its begin is one transaction', async () => {
    const changes = [{}, { stateDelta: { own: 1, 'user:name': 'Ada' } }, { removedState: ['own', 'user:name'] }];
    for (const [index, actions] of changes.entries()) {
      const run = { ...KEY, invocationId: `e-${index}`, resumable: true };
      const begun = await service.beginRun({ ...run, message: eventOf(`message ${index}`, { actions }) });
      expect(sent).toEqual(['connect']);
      sent = [];
      await service.endRun(begun.lease, { session: begun.session, event: eventOf(`end ${index}`, { actions }) });
      expect(sent.length).toBe(1);
      sent = [];
    }
    expect((await service.listOpenRuns(KEY)).runs).toEqual([]);
  });

  test('everything that a turn asks for is one statement', async () => {
    const lease = await service.acquireLease(KEY);
    await service.renewLease(lease);
    await service.getSession({ ...KEY, config: { numRecentEvents: 10 } });
    await service.getSession({ ...KEY, config: { sinceCompaction: true } });
    await service.listEvents(KEY);
    await service.listSessions({ appName: 'app', userId: 'user' });
    await service.recordToolCall(lease, { invocationId: 'e-1', callId: 'c', name: 'tool', status: 'started' });
    await service.listToolCalls({ ...KEY, invocationId: 'e-1' });
    await service.releaseLease(lease);
    await service.createSession({ ...KEY, sessionId: 'other', state: { own: 1 } });
    expect(sent.length).toBe(10);
    expect(sent).not.toContain('connect');
  });
});
