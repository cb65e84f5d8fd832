import { createEvent, systemPlatform } from '@eventloom/core';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { SqliteSessionService } from './sqlite-session-service.ts';

const RUN = { appName: 'app', userId: 'user', sessionId: 'session', invocationId: 'e-1' };

/** A database that records the first words of the statements that it runs. */
class WatchedDatabase extends DatabaseSync {
  readonly ran: string[] = [];

  override prepare(sql: string): StatementSync {
    const name = sql.trim().split(/\s+/, 3).join(' ');
    return new Proxy(super.prepare(sql), {
      get: (statement, method) => {
        const found: unknown = Reflect.get(statement, method);
        if (typeof found !== 'function') return found;
        return (...values: unknown[]): unknown => {
          this.ran.push(name);
          return Reflect.apply(found, statement, values);
        };
      },
    });
  }
}

test('a text turn is three write transactions: its start, the append of the answer, and its end', async () => {
  const database = new WatchedDatabase(':memory:');
  const service = new SqliteSessionService({ database });
  const event = (id: string) => createEvent({ id, invocationId: 'e-1', author: 'agent', timestamp: 1 });
  for (const turn of ['1', '2']) {
    database.ran.length = 0;
    const message = event(`message ${turn}`);
    const { lease, session } = await service.beginRun({ ...RUN, create: true, read: { afterSeq: 0 }, message });
    expect(database.ran.filter((name) => name === 'BEGIN IMMEDIATE').length).toBe(1);
    await service.appendEvent({ session, event: event(`answer ${turn}`), lease });
    await service.endRun(lease, { session, event: event(`end ${turn}`) });
    // The append is one statement, which is its own transaction.
    expect(database.ran.filter((name) => name.startsWith('BEGIN')).length).toBe(2);
    expect(database.ran.filter((name) => name === 'COMMIT').length).toBe(2);
    expect(database.ran.length).toBe(turn === '1' ? 15 : 13);
  }
  database.ran.length = 0;
  const { lease, session } = await service.beginRun(RUN);
  await service.endRun(lease, { session });
  expect(database.ran.filter((name) => name.startsWith('BEGIN')).length).toBe(2);
  database.close();
});

test('calls that start or end together are one transaction, which a later write does not overtake', async () => {
  const database = new WatchedDatabase(':memory:');
  const service = new SqliteSessionService({ database });
  const { lease } = await service.beginRun({ ...RUN, create: true });
  const call = (id: number) => ({ invocationId: 'e-1', entryId: `call ${id}`, name: 'tool' });
  const ids = Array.from({ length: 8 }, (_, id) => id);
  const recordAll = (status: 'started' | 'finished') =>
    ids.map(async (id) => service.recordToolCall(lease, { ...call(id), status }));
  for (const status of ['started', 'finished'] as const) {
    database.ran.length = 0;
    await Promise.all(recordAll(status));
    expect(database.ran.filter((name) => name.startsWith('BEGIN')).length).toBe(1);
    const calls = await service.listToolCalls({ ...RUN });
    expect(calls).toEqual(ids.map((id) => ({ ...call(id), status })));
  }
  const last = { ...call(8), status: 'started' } as const;
  const recorded = service.recordToolCall(lease, last);
  await service.releaseLease(lease);
  await recorded;
  expect((await service.listToolCalls(RUN)).at(-1)).toEqual(last);
  database.close();
});

test('a text turn writes at most 12 kB to the log of the file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  const path = join(folder, 'sessions.db');
  const service = new SqliteSessionService({ path });
  const event = (invocationId: string) => {
    const content = { role: 'model', parts: [{ text: 'The answer is 42.' }] };
    return createEvent({ id: systemPlatform.newEventId(), invocationId, author: 'agent', timestamp: 1, content });
  };
  await service.createSession(RUN);
  const turns = 250;
  for (let turn = 0; turn < turns; turn++) {
    const invocationId = `e-${systemPlatform.newEventId()}`;
    const run = { ...RUN, invocationId, read: { numRecentEvents: 0 }, message: event(invocationId) };
    const { lease, session } = await service.beginRun(run);
    await service.appendEvent({ session, event: event(invocationId), lease });
    await service.releaseLease(lease, { outcome: { state: 'completed' } });
  }
  // The log has every written page: so few turns cause no checkpoint.
  expect(statSync(`${path}-wal`).size / turns).toBeLessThan(12_000);
  service.close();
  rmSync(folder, { recursive: true });
});
