import { type BaseSessionService, InvalidRequestError, type SessionRecord } from '@eventloom/core';
import { LlmAgent, LlmEventSummarizer } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { createTestDatabase } from '@eventloom/test-postgres';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { WHOLE_EVENT } from './fixtures/whole-event.ts';

type Json = Readonly<Record<string, unknown>>;

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
/** Values that may replace any value. */
const VALUES: readonly unknown[] = [undefined, null, 5, 1e300, 'text', '', true, [], [null], {}, { a: null }];

/** Returns events with and without the fields that hide them from the model; of the agent, of another agent and of the user. */
function bases(): Json[] {
  const { compaction: _, rewindBeforeInvocationId: __, history: ___, ...shown } = WHOLE_EVENT.actions;
  const message = { ...WHOLE_EVENT, longRunningToolIds: [], actions: shown };
  return [WHOLE_EVENT, message, { ...message, author: 'other' }, { ...message, author: 'user', branch: '' }];
}

/** Yields events, and copies in which one value at any depth is replaced by each of those values. */
function* changedEvents(): Generator<Json> {
  for (const base of bases()) {
    yield base;
    for (const path of pathsOf(base)) {
      for (const value of VALUES) {
        const event = structuredClone(base);
        setAt(event, path, value);
        yield event;
      }
    }
  }
}

function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  if (path.length > 0) yield path;
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) yield* pathsOf(item, [...path, key]);
}

function setAt(target: object, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) Reflect.set(target, key, value);
  else setAt(Reflect.get(target, key) as object, rest, value);
}

function recordsOf(events: readonly unknown[]): SessionRecord[] {
  const header = { type: 'session', version: 1, appName: 'app', userId: 'user', id: 'session', lastUpdateTime: 5 };
  const records = [
    { ...header, initialState: {}, state: { own: 1 } },
    ...events.map((event) => ({ type: 'event', event })),
    { type: 'end', events: events.length, toolCalls: 0 },
  ];
  return records as SessionRecord[];
}

async function exportOf(service: BaseSessionService, sessionId: string): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const record of service.exportSession({ ...KEY, sessionId })) records.push(record);
  return records;
}

/** Runs the agent twice, with a tool call and a compaction; any fault of the session makes one of the runs reject. */
async function runTwice(sessionService: BaseSessionService, sessionId: string): Promise<void> {
  const call = { calls: [{ name: 'look', args: {} }] };
  const model = new ScriptedModel([call, 'one', 'a summary', 'two', 'a summary']);
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: true }) });
  const agent = new LlmAgent({ name: 'bot', model, tools: [look] });
  const eventsCompaction = { summarizer: new LlmEventSummarizer({ model }), compactionInterval: 1 };
  const runner = new Runner({ appName: 'app', agent, sessionService, eventsCompaction, platform: fixedPlatform() });
  for (const text of ['first', 'second']) {
    await runner.run({ userId: 'user', sessionId, newMessage: { parts: [{ text }] } });
  }
}

/** Imports each of the events as a session, continues it and exports it; returns the accepted ones. */
async function tryEach(service: BaseSessionService, copies: BaseSessionService): Promise<Json[]> {
  const taken: Json[] = [];
  for (const event of changedEvents()) {
    const sessionId = `session ${taken.length}`;
    try {
      await service.importSession({ records: recordsOf([event]), sessionId });
      taken.push(event);
    } catch (error) {
      expect(InvalidRequestError.isInstance(error), String(error)).toBe(true);
      expect(await service.getSession({ ...KEY, sessionId })).toBeUndefined();
      continue;
    }
    await expect(runTwice(service, sessionId), JSON.stringify(event)).resolves.toBeUndefined();
    const records = await exportOf(service, sessionId);
    await copies.importSession({ records });
    expect(await exportOf(copies, sessionId)).toEqual(records);
  }
  return taken;
}

test('every back end either refuses an imported event or reads, continues and exports it without an error', async () => {
  const platform = fixedPlatform();
  const memory = new InMemorySessionService({ platform });
  const taken = await tryEach(memory, new InMemorySessionService({ platform }));
  expect(taken.length).toBeGreaterThan(500);
  const events = taken.map((event, index) => ({ ...event, id: `event ${index}` }));
  await memory.importSession({ records: recordsOf(events) });
  await runTwice(memory, KEY.sessionId);
  const expected = await exportOf(memory, KEY.sessionId);

  await using stack = new AsyncDisposableStack();
  const database = await createTestDatabase();
  stack.defer(() => database.drop());
  const pool = new Pool({ connectionString: database.url });
  stack.defer(() => pool.end());
  const sqlite = new SqliteSessionService({ path: ':memory:', platform });
  stack.defer(() => sqlite.close());
  for (const service of [sqlite, new PostgresSessionService({ pool, platform })]) {
    await service.importSession({ records: recordsOf(events) });
    await runTwice(service, KEY.sessionId);
    const records = await exportOf(service, KEY.sessionId);
    expect(withoutIds(records)).toEqual(withoutIds(expected));
    await service.importSession({ records: expected, sessionId: 'copy' });
  }
});

/** Returns the records without ids that differ in each run. */
function withoutIds(records: readonly SessionRecord[]): unknown {
  const text = JSON.stringify(records.filter(({ type }) => type === 'event'));
  return JSON.parse(text.replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'uuid'));
}
