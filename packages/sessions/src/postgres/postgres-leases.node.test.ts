import { createEvent, SessionBusyError, type SessionLease, systemPlatform } from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClaimOutcome, LeaseClaim, LeaseTicket } from '../lease-claim.ts';
import { ALL_EVENTS } from '../session-view.ts';
import type { RunClaim } from '../session-driver.ts';
import { PostgresDatabase } from './postgres-database.ts';
import { PostgresSessionDriver } from './postgres-session-driver.ts';
import { PostgresSessionService } from './postgres-session-service.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

const { url, pool } = useTestDatabase();
let schema: string;
let driver: PostgresSessionDriver;
beforeEach(async () => {
  schema = `schema_${crypto.randomUUID().replaceAll('-', '')}`;
  driver = new PostgresSessionDriver(new PostgresDatabase(pool, { schema, leaseClock: 'platform' }));
  await driver.createSession({ ...KEY, writes: [], nowMs: 0 });
});
afterEach(async () => void (await pool.query(`DROP SCHEMA ${schema} CASCADE`)));

const claim = (nowMs: number, more: Partial<LeaseClaim> = {}): Promise<ClaimOutcome> =>
  driver.claimLease({
    ...KEY,
    nowMs,
    ttlMs: 1000,
    takeOver: false,
    ticket: undefined,
    ...more,
  });
const ticketOf = (id: string, sinceMs: number): LeaseTicket => ({ id, sinceMs, ttlMs: 500 });
const tickets = async (): Promise<unknown[]> =>
  (await pool.query(`SELECT id, expires_at FROM ${schema}.eventloom_lease_tickets ORDER BY id`)).rows;

async function begin(nowMs: number, more: Partial<RunClaim> = {}) {
  const run = { invocationId: 'run', requestId: undefined, resumable: true, continues: false };
  const claimed = { ...KEY, nowMs, ttlMs: 1000, takeOver: false, ticket: undefined };
  const rest = { create: false, window: ALL_EVENTS, message: undefined };
  const outcome = await driver.beginRun({ ...claimed, ...run, ...rest, ...more });
  if (outcome.status !== 'taken') throw new Error(`the run did not begin: ${outcome.status}`);
  return outcome.lease;
}

async function take(nowMs: number, more: Partial<LeaseClaim> = {}) {
  const outcome = await claim(nowMs, more);
  if (outcome.status !== 'taken') throw new Error(`the lease was not given: ${outcome.status}`);
  return outcome.lease;
}

test('waiting claims get the session in order, and a claim without a ticket comes last', async () => {
  const lease = await take(100);
  const [first, second] = [ticketOf('b', 110), ticketOf('a', 120)];
  // The second claim leaves its ticket before the first one does.
  for (const ticket of [second, first])
    expect(await claim(200, { ticket })).toEqual({ status: 'busy', freeAtMs: 1100 });
  expect(await tickets()).toEqual([
    { id: 'a', expires_at: 700 },
    { id: 'b', expires_at: 700 },
  ]);
  await driver.releaseLease(lease, false);
  expect(await claim(300)).toEqual({ status: 'busy', freeAtMs: 700 });
  expect(await claim(310, { ticket: second })).toEqual({ status: 'busy', freeAtMs: 700 });
  const next = await take(320, { ticket: first });
  expect(await tickets()).toEqual([{ id: 'a', expires_at: 700 }]);
  await driver.releaseLease(next, false);
  await take(330, { ticket: second });
  expect(await tickets()).toEqual([]);
});

test('the ticket with the lower id is the first of two tickets with the same time', async () => {
  const lease = await take(100);
  for (const id of ['b', 'a']) await claim(200, { ticket: ticketOf(id, 150) });
  await driver.releaseLease(lease, false);
  expect(await claim(300, { ticket: ticketOf('b', 150) })).toMatchObject({ status: 'busy' });
  await take(300, { ticket: ticketOf('a', 150) });
});

test('an expired or withdrawn ticket does not delay claims', async () => {
  const lease = await take(100);
  for (const id of ['a', 'b']) await claim(200, { ticket: ticketOf(id, 150) });
  await driver.releaseLease(lease, false);
  await driver.withdrawTicket(KEY, 'b');
  await driver.withdrawTicket(KEY, 'never left');
  expect(await claim(699)).toEqual({ status: 'busy', freeAtMs: 700 });
  await take(700);
  expect(await tickets()).toEqual([]);
});

test('a ticket is renewed after half of its time', async () => {
  await take(100);
  const ticket = ticketOf('a', 150);
  /** Polls with the ticket and returns its stored row: its first two columns show who writes or locks it. */
  const poll = async (nowMs: number): Promise<unknown> => {
    expect(await claim(nowMs, { ticket })).toMatchObject({ status: 'busy' });
    return (await pool.query(`SELECT xmin, xmax, expires_at FROM ${schema}.eventloom_lease_tickets`)).rows[0];
  };
  const left = await poll(200);
  expect(left).toMatchObject({ expires_at: 700 });
  for (let nowMs = 210; nowMs <= 450; nowMs += 10) expect(await poll(nowMs)).toEqual(left);
  expect(await poll(451)).toMatchObject({ expires_at: 951 });
});

test('an interrupting claim ignores tickets, and an expired lease goes to the first ticket', async () => {
  await take(100);
  await claim(200, { ticket: ticketOf('a', 150) });
  const lease = await take(300, { takeOver: true });
  await claim(1200, { ticket: ticketOf('a', 150) });
  expect(await claim(1300)).toEqual({ status: 'busy', freeAtMs: 1700 });
  // No waiting caller got the lease: its owner still has it.
  expect(await driver.renewLease(lease, 1300)).toBe(true);
  await take(2300, { ticket: ticketOf('a', 150) });
});

test('an append renews only its own lease', async () => {
  const [session] = await driver.listSessions({ appName: 'app', userId: undefined, limit: 1, after: undefined });
  const append = async (id: string, nowMs: number, lease: SessionLease): Promise<void> => {
    const event = createEvent({ id, invocationId: 'e-1', author: 'agent' });
    const incarnation = session?.incarnation ?? '';
    await driver.appendEvent({ ...KEY, incarnation, event, writes: [], nowMs, lease });
  };
  const old = await take(100, { ttlMs: 10_000 });
  await append('one', 5000, old);
  expect(await claim(14_999)).toEqual({ status: 'busy', freeAtMs: 15_000 });
  await driver.releaseLease(old, false);
  const lease = await begin(200);
  expect(await claim(300)).toEqual({ status: 'busy', freeAtMs: 1200 });
  await append('two', 900, lease);
  const page = { appName: 'app', limit: 1, after: undefined };
  const run = { ...KEY, invocationId: 'run', resumable: true, attempts: 1 };
  expect(await driver.listOpenRuns(page)).toEqual([{ ...run, heldUntilMs: 1900 }]);
  const again = await begin(1900, { continues: true });
  expect(await driver.listOpenRuns(page)).toEqual([{ ...run, attempts: 2, heldUntilMs: 2900 }]);
  await driver.releaseLease(again, true);
  expect(await driver.listOpenRuns(page)).toEqual([{ ...run, attempts: 2, heldUntilMs: 0 }]);
});

test('deleting a session deletes its tickets, and waiting claims add none', async () => {
  await take(100);
  await claim(200, { ticket: ticketOf('a', 150) });
  await driver.deleteSession(KEY);
  expect(await tickets()).toEqual([]);
  await pool.query(`INSERT INTO ${schema}.eventloom_lease_tickets VALUES ('app', 'user', 'session', 'late', 1, 9000)`);
  expect(await claim(300, { ticket: ticketOf('late', 1) })).toEqual({ status: 'missing' });
  expect(await tickets()).toEqual([]);
});

test('appends do not update the session row, and claims without a run update no index', async () => {
  const client = new Client({ connectionString: url });
  await client.connect();
  const single = Object.assign(client, { release: () => undefined });
  const own = { query: (query: Parameters<typeof pool.query>[0]) => single.query(query), connect: async () => single };
  driver = new PostgresSessionDriver(new PostgresDatabase(own as never, { schema, leaseClock: 'platform' }));
  const [session] = await driver.listSessions({ appName: 'app', userId: undefined, limit: 1, after: undefined });
  const counts = async (): Promise<unknown> => {
    const name = `'${schema}.eventloom_sessions'::regclass`;
    const columns = ['inserted', 'updated', 'hot_updated'].map(
      (what) => `pg_stat_get_xact_tuples_${what}(${name})::integer`,
    );
    return (await client.query({ text: `SELECT ${columns.join(', ')}`, rowMode: 'array' })).rows[0];
  };
  await client.query('BEGIN');
  const lease = await take(100);
  expect(await counts()).toEqual([0, 1, 1]);
  for (let index = 0; index < 50; index++) {
    const event = createEvent({ id: `event ${index}`, invocationId: 'plain', author: 'agent' });
    const writes = [{ scope: 'session', key: 'count', value: index }] as const;
    const incarnation = session?.incarnation ?? '';
    const outcome = await driver.appendEvent({ ...KEY, incarnation, event, writes, nowMs: 100 + index, lease });
    expect(outcome).toEqual({ status: 'stored', seq: index + 1 });
  }
  expect(await counts()).toEqual([0, 1, 1]);
  await driver.releaseLease(lease, false);
  expect(await counts()).toEqual([0, 2, 2]);
  await driver.releaseLease(await begin(200), false);
  expect(await counts()).toEqual([0, 4, 2]);
  await client.query('ROLLBACK');
  await client.end();
});

test("lease times follow the database's clock, not those of processes", async () => {
  const HOUR_MS = 3_600_000;
  const at = (shiftMs: number) => {
    const platform = { ...systemPlatform, now: () => Date.now() + shiftMs };
    return { platform, service: new PostgresSessionService({ pool, schema, platform }) };
  };
  const [behind, ahead] = [at(-HOUR_MS), at(HOUR_MS)];
  const refused = (from: typeof ahead) =>
    expect(from.service.acquireLease({ ...KEY, onBusy: 'reject' })).rejects.toThrow(SessionBusyError);
  // A clock that is ahead takes no lease early.
  const run = { ...KEY, invocationId: 'run', ttlMs: 60_000 };
  const begun = await behind.service.beginRun({
    ...run,
    message: createEvent({ id: 'one', author: 'user', timestamp: 1 }),
  });
  await refused(ahead);
  await behind.service.renewLease(begun.lease);
  await refused(ahead);
  await behind.service.appendEvent({
    session: begun.session,
    lease: begun.lease,
    event: createEvent({ id: 'two', author: 'agent', timestamp: 1 }),
  });
  await refused(ahead);
  // Each process reads its own clock.
  for (const { service, platform } of [behind, ahead]) {
    const [open] = (await service.listOpenRuns({ appName: 'app' })).runs;
    const record = await service.findRun({ ...KEY, id: 'run' });
    for (const heldUntilMs of [open?.heldUntilMs, record?.open?.heldUntilMs]) {
      expect(Math.abs((heldUntilMs ?? 0) - platform.now() - 60_000)).toBeLessThan(30_000);
    }
  }
  await behind.service.releaseLease(begun.lease);
  // A process whose clock is behind waits no longer, and one whose clock is ahead does not ask too early.
  for (const [owner, other] of [
    [ahead, behind],
    [behind, ahead],
  ] as const) {
    const beganMs = performance.now();
    const lease = await owner.service.acquireLease({ ...KEY, ttlMs: 300 });
    // By the clock of its process it would wait for an hour.
    const next = await other.service.acquireLease({ ...KEY, waitMs: HOUR_MS / 10 });
    expect(performance.now() - beganMs).toBeGreaterThan(250);
    expect(next.epoch).toBeGreaterThan(lease.epoch);
    await other.service.releaseLease(next);
  }
});
