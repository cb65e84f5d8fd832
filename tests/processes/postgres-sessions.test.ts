import { createEvent, type Session, type SessionLease, StaleWriterError } from '@eventloom/core';
import { applyStateDelta } from '@eventloom/core/internal';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { fixturePath, startFixture } from './run-fixture.ts';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };

/** Bundles of the programs that are started several times. */
let programs: string;
let appendingProgram: string;
let turningProgram: string;
let beginningProgram: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'eventloom-postgres-sessions-'));
  appendingProgram = await bundleProgram(fixturePath('appending-process'), programs);
  turningProgram = await bundleProgram(fixturePath('turning-process'), programs);
  beginningProgram = await bundleProgram(fixturePath('beginning-process'), programs);
});
afterAll(() => rmSync(programs, { recursive: true }));

let database: TestDatabase;
let pool: Pool;
let service: PostgresSessionService;
beforeEach(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
  service = new PostgresSessionService({ pool });
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

async function read(sessionId: string, userId = 'user'): Promise<Session> {
  const session = await service.getSession({ appName: 'app', userId, sessionId });
  if (!session) throw new Error(`there is no ${sessionId}`);
  return session;
}

/** Waits, because the server may still run the last statement of a killed process. */
async function untilDisconnected(): Promise<void> {
  const connected = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'appending'`;
  while ((await pool.query(connected)).rows.length > 0);
}

test('kill -9 in a stream of 10,000 appends leaves exactly the acknowledged events, in order and with their state', async () => {
  const events = 10_000;
  const kills = 6;
  let stored = 0;
  for (let run = 0; run <= kills; run++) {
    const fixture = startFixture(appendingProgram, [database.url, String(events - 1)]);
    const isLast = run === kills;
    if (!isLast) {
      await fixture.untilLine(1 + Math.floor((Math.random() * 2 * (events - stored)) / (kills + 1)));
      fixture.process.kill('SIGKILL');
    }
    expect(await fixture.ended).toEqual({ faults: '', code: isLast ? 0 : null });
    await untilDisconnected();
    const acknowledged = fixture.lines.map(Number);
    expect(acknowledged).toEqual(acknowledged.map((_, index) => stored + index));
    const session = await read('session');
    const known = stored + acknowledged.length;
    // The append in progress when the process was killed is stored as a whole or not at all.
    expect(session.lastSeq - known).toBeGreaterThanOrEqual(0);
    expect(session.lastSeq - known).toBeLessThanOrEqual(isLast ? 0 : 1);
    stored = session.lastSeq;
    expect(session.events.map(({ id }) => id)).toEqual(Array.from({ length: stored }, (_, index) => `event ${index}`));
    const state: Record<string, unknown> = {};
    for (const [index, { content, actions }] of session.events.entries()) {
      expect(content?.parts?.[0]?.text?.length).toBe((index * 37) % 3000);
      applyStateDelta(state, actions.stateDelta, actions.removedState);
    }
    expect({ ...session.state }).toEqual(state);
  }
  expect(stored).toBe(events);
});

test('two processes with turns in the same 50 sessions lose, repeat and interleave no events', async () => {
  const [sessions, turns] = [50, 300];
  for (let number = 0; number < sessions; number++) {
    await service.createSession({ appName: 'app', userId: `user ${number % 3}`, sessionId: `session ${number}` });
  }
  const writers = ['A', 'B'].map((name) =>
    startFixture(turningProgram, [database.url, name, String(turns), String(sessions)]),
  );
  for (const writer of writers) expect(await writer.ended).toEqual({ faults: '', code: 0 });
  const seen: string[] = [];
  const marks = new Set<string>();
  for (let number = 0; number < sessions; number++) {
    const session = await read(`session ${number}`, `user ${number % 3}`);
    const ids = session.events.map(({ id }) => id);
    expect(session.state['count']).toBe(ids.length);
    for (let index = 0; index < ids.length; index += 3) {
      const turn = ids[index]?.replace(/ begin$/, '');
      expect(ids.slice(index, index + 3)).toEqual([`${turn} begin`, `${turn} middle`, `${turn} end`]);
    }
    for (const id of ids) expect(session.state).toHaveProperty([`user:${id}`], Number(id.split(' ')[1]));
    for (const key in session.state) if (/^user:[AB] /.test(key)) marks.add(key.slice('user:'.length));
    seen.push(...ids);
  }
  expect(new Set(seen).size).toBe(2 * 3 * turns);
  expect(seen.length).toBe(2 * 3 * turns);
  expect(marks).toEqual(new Set(seen));
});

test('several processes can start concurrently on an empty database', async () => {
  const names = Array.from({ length: 5 }, (_, index) => `session ${index}`);
  const fixtures = names.map((name) => startFixture(beginningProgram, [database.url, name]));
  await Promise.all(fixtures.map((fixture) => fixture.untilLine(1)));
  for (const { process } of fixtures) process.stdin.end();
  for (const fixture of fixtures) expect(await fixture.ended).toEqual({ faults: '', code: 0 });
  const { sessions } = await service.listSessions({ appName: 'app' });
  expect(sessions.map(({ id }) => id).toSorted()).toEqual(names);
});

test('the lease of a crashed process expires, another process continues, and the old lease writes nothing', async () => {
  const fixture = startFixture(fixturePath('holding-process'), [database.url, '1000']);
  await fixture.untilLine(1);
  fixture.process.kill('SIGKILL');
  await fixture.ended;
  const old = JSON.parse(fixture.lines[0] ?? '') as SessionLease;
  const lease = await service.acquireLease({ ...KEY, waitMs: 120_000 });
  expect(lease.epoch).toBeGreaterThan(old.epoch);
  const session = await read('session');
  const eventOf = (id: string) =>
    createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1, actions: { stateDelta: { [id]: 1 } } });
  await service.appendEvent({ session, event: eventOf('after'), lease });
  const late = service.appendEvent({ session, event: eventOf('late'), lease: old });
  await expect(late).rejects.toThrow(StaleWriterError);
  await expect(async () => service.renewLease(old)).rejects.toThrow(StaleWriterError);
  await service.releaseLease(old);
  await service.renewLease(lease);
  const stored = await read('session');
  expect(stored.events.map(({ id }) => id)).toEqual(['before the crash', 'after']);
  expect({ ...stored.state }).toEqual({ after: 1 });
});
