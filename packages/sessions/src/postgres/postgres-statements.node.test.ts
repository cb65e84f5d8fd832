import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { Client } from 'pg';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PostgresSessionService } from './postgres-session-service.ts';
import { WatchedPool } from './fixtures/watched-pool.ts';
import { indexesOf, planOf, scansOf } from './fixtures/statement-plan.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

const EVENTS = 40_000;

const SESSIONS = 4000;

const { url, pool: connections } = useTestDatabase();
const pool = new WatchedPool(connections);

const eventOf = (id: string, params: EventParams = {}): Event =>
  createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, ...params });

test('a session and its events are found by their primary keys without statistics', async () => {
  const service = new PostgresSessionService({ pool, schema: 'young' });
  const session = await service.createSession(KEY);
  pool.sent = [];
  const lease = await service.acquireLease(KEY);
  await service.appendEvent({ session, event: eventOf('one'), lease });
  await service.getSession(KEY);
  await service.getSession({ ...KEY, config: { sinceCompaction: true } });
  await service.releaseLease(lease);
  await service.beginRun({ ...KEY, invocationId: 'e-1', message: eventOf('two'), read: { sinceCompaction: true } });
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const query of pool.sent) {
      const plan = await planOf(client, query);
      expect(scansOf(plan)).not.toContain('Seq Scan on eventloom_events');
      const indexes = indexesOf(plan);
      expect(indexes.filter((index) => index.startsWith('eventloom_sessions'))).toContain('eventloom_sessions_pkey');
      expect(indexes).not.toContain('eventloom_sessions_of_user');
    }
  } finally {
    await client.end();
  }
});

test('an append under a lease reads only the event before, by its index', async () => {
  const service = new PostgresSessionService({ pool, schema: 'small' });
  const session = await service.createSession(KEY);
  const lease = await service.acquireLease(KEY);
  // The planner reads all of a table with a few pages.
  const appends = Array.from({ length: 500 }, (_, index) => ({ event: eventOf(`zero ${index}`) }));
  await service.appendEvents({ session, lease, appends });
  await connections.query('ANALYZE');
  pool.sent = [];
  await service.appendEvent({ session, event: eventOf('two'), lease });
  await service.appendEvent({ session, event: eventOf('three', { actions: { stateDelta: { own: 1 } } }), lease });
  expect(session.lastSeq).toBe(502);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const query of pool.sent) {
      const scans = scansOf(await planOf(client, query));
      expect(scans.filter((scan) => scan.endsWith('eventloom_events'))).toEqual([
        'Index Scan on eventloom_events',
        'ModifyTable on eventloom_events',
      ]);
    }
  } finally {
    await client.end();
  }
});

describe(`with ${EVENTS} events and ${SESSIONS} sessions`, () => {
  const schema = 'large';
  let service: PostgresSessionService;
  beforeAll(async () => {
    service = new PostgresSessionService({ pool, schema });
    await service.createSession({ ...KEY, state: { own: 1, 'user:name': 'Ada', 'app:motto': 'go' } });
    await connections.query(`
      INSERT INTO large.eventloom_sessions (app_name, user_id, session_id, created_at, listed_at, open_run, attempts)
      SELECT 'app', 'user ' || number % 7, 'session ' || number, time, time, CASE WHEN number % 100 = 0 THEN 'e-1' END, 1
      FROM generate_series(1, ${SESSIONS}) AS number, LATERAL (SELECT number * 30000) AS moment (time)`);
    await connections.query(`
      INSERT INTO large.eventloom_events
        (session, seq, event_id, timestamp, high_timestamp, compaction_end, compacted_until, appended_at, event)
      SELECT pk, seq, 'event ' || seq, seq, seq, CASE WHEN seq % 10000 = 0 THEN seq - 50 END,
        CASE WHEN seq >= 10000 THEN seq - seq % 10000 - 50 END, 0, json
      FROM large.eventloom_sessions, generate_series(1, ${EVENTS}) AS seq,
        LATERAL (SELECT '{"id":"event ' || seq || '","timestamp":' || seq || ',"actions":{}}' AS json) AS event
      WHERE session_id = 'session'`);
    await connections.query(`
      INSERT INTO large.eventloom_session_runs (session, id, invocation_id, first_seq)
      SELECT pk, 'run ' || seq, 'run ' || seq, seq FROM large.eventloom_sessions, generate_series(1, 10000) AS seq
      WHERE session_id = 'session'`);
    await connections.query(`
      INSERT INTO large.eventloom_state (session, app_name, user_id, key, value)
      SELECT pk, '', '', 'key ' || number, '1' FROM large.eventloom_sessions, generate_series(1, 5) AS number`);
    await connections.query(`
      INSERT INTO large.eventloom_lease_tickets
      SELECT 'app', 'user ' || number % 7, 'session ' || number, 'ticket', 1, 2 FROM generate_series(1, ${SESSIONS}) AS number`);
    await connections.query('ANALYZE');
  });
  beforeEach(() => void (pool.sent = []));

  /**
   * Returns the pages of the database that the sent statements read, with generic and with specific plans, and their
   * scans and indexes.
   */
  async function costs(): Promise<{ blocks: number; scans: string[]; indexes: string[] }> {
    let blocks = 0;
    const scans: string[] = [];
    const indexes: string[] = [];
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      for (const mode of ['force_generic_plan', 'force_custom_plan']) {
        await client.query(`SET plan_cache_mode = ${mode}`);
        for (const query of pool.sent) {
          const root = await planOf(client, query);
          blocks = Math.max(blocks, root['Shared Hit Blocks'] + root['Shared Read Blocks']);
          scans.push(...scansOf(root));
          indexes.push(...indexesOf(root));
        }
      }
    } finally {
      await client.end();
    }
    return { blocks, scans, indexes };
  }

  test('an append reads a few pages', async () => {
    const session = await service.getSession({ ...KEY, config: { numRecentEvents: 0 } });
    if (!session) throw new Error('no session');
    const lease = await service.acquireLease(KEY);
    pool.sent = [];
    const stateDelta = { own: 1, more: 2, 'user:name': 'Ada', 'app:motto': 'go' };
    const actions = { stateDelta, removedState: ['own', 'user:none'] };
    await service.appendEvent({ session, event: eventOf('new', { actions }), lease });
    await service.appendEvent({ session, event: eventOf('next'), lease });
    await service.appendEvent({ session, event: eventOf('event 7'), lease });
    expect(pool.sent.length).toBe(4);
    // An event that is already stored is a duplicate: the third statement inserts none, and the fourth finds it.
    pool.sent.splice(2, 1);
    for (const query of pool.sent.slice(0, 2)) if (query !== 'connect') query.values?.splice(4, 1, 'never appended');
    const { blocks, scans } = await costs();
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
    expect(blocks).toBeLessThan(120);
  });

  test.each([
    ['the newest', { numRecentEvents: 10 }],
    ['those after a number', { afterSeq: EVENTS - 10 }],
    ['the newest before a number', { beforeSeq: EVENTS / 2, numRecentEvents: 10 }],
    ['those after a time', { afterTimestamp: EVENTS - 9 }],
    ['the newest after an early time', { afterTimestamp: 5, numRecentEvents: 10 }],
    ['those since the last compaction', { sinceCompaction: true }],
    ['the newest since the last compaction', { sinceCompaction: true, numRecentEvents: 10 }],
  ])('a read of %s looks at a few pages', async (_, config) => {
    const session = await service.getSession({ ...KEY, config });
    expect(session?.events.length).toBeGreaterThanOrEqual(10);
    expect(session?.events.length).toBeLessThan(60);
    const { blocks, scans } = await costs();
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
    expect(blocks).toBeLessThan(120);
  });

  test.each([
    ['its newest events', { numRecentEvents: 10 }],
    ['those since the last compaction', { sinceCompaction: true }],
  ])('the start of a run that reads %s reads a few database pages', async (_, read) => {
    const stateDelta = { own: 1, more: 2, 'user:name': 'Ada', 'app:motto': 'go' };
    const message = eventOf('message', { actions: { stateDelta, removedState: ['own', 'user:none'] } });
    const run = { ...KEY, invocationId: 'e-1', create: true, requestId: 'r-1', onBusy: 'reject', read } as const;
    await service.releaseLease(await service.acquireLease({ ...KEY, onBusy: 'interrupt' }));
    pool.sent = [];
    const { lease, session } = await service.beginRun({ ...run, message: { ...message, timestamp: EVENTS + 1 } });
    expect(session.events.length).toBeGreaterThan(10);
    expect(pool.sent.length).toBe(1);
    await service.releaseLease(lease);
    await connections.query(`DELETE FROM large.eventloom_events WHERE event_id = 'message'`);
    pool.sent = pool.sent.slice(0, 1);
    const { blocks, scans } = await costs();
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
    expect(blocks).toBeLessThan(250);
  });

  test('a page of a listing reads a few database pages, wherever it begins', async () => {
    for (const owner of [{ appName: 'app' }, { appName: 'app', userId: 'user 3' }]) {
      let cursor: string | undefined;
      for (const limit of [5, 100, 5]) {
        pool.sent = [];
        const page = await service.listSessions({ ...owner, limit, cursor });
        expect(page.sessions.length).toBe(limit);
        cursor = page.nextCursor;
        const { blocks, scans } = await costs();
        expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
        // Sessions updated within the lag of the page's last session, or of its position, are read too.
        expect(blocks).toBeLessThan(limit * 10 + 100);
      }
    }
  });

  test('a page of open runs reads only open runs, wherever it begins', async () => {
    let cursor: string | undefined;
    for (let page = 0; page < 3; page++) {
      pool.sent = [];
      const { runs, nextCursor } = await service.listOpenRuns({ appName: 'app', limit: 5, cursor });
      expect(runs.length).toBe(5);
      cursor = nextCursor;
      const { blocks, scans, indexes } = await costs();
      expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
      expect(indexes.filter((index) => index !== 'eventloom_events_pkey')).toEqual(
        Array(2).fill('eventloom_open_runs'),
      );
      expect(blocks).toBeLessThan(60);
    }
  });

  test('claiming and releasing a contended lease reads a few pages', async () => {
    const key = { ...KEY, userId: 'user 3', sessionId: 'session 3' };
    const lease = await service.acquireLease(key);
    pool.sent = [];
    await expect(service.acquireLease({ ...key, waitMs: 0 })).rejects.toThrow(/is busy/);
    await service.releaseLease(lease);
    const { blocks, scans } = await costs();
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([]);
    expect(blocks).toBeLessThan(120);
  });
});
