import {
  type BaseSessionService,
  type Event,
  getFunctionResponses,
  type Platform,
  StorageError,
  systemPlatform,
  type ToolContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { type Postgres, type Proxy, startPostgres, startProxy } from '@eventloom/test-postgres';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const TOOLS = ['one', 'two', 'three'];

/** Ignores failures of background work, such as the renewal of a lease that expires. */
const platform: Platform = { ...systemPlatform, background: (work) => void work.catch(() => undefined) };

/** A run of three tool calls, before the second of which something happens to the storage. */
class DisturbedRun {
  readonly runner: Runner;
  readonly ran: string[] = [];
  readonly #service: BaseSessionService;

  constructor(service: BaseSessionService, disturb: () => unknown, leaseTtlMs?: number) {
    this.#service = service;
    const tool = (name: string) =>
      new FunctionTool({
        name,
        description: '',
        execute: async (_, context: ToolContext) => {
          this.ran.push(name);
          if (name === 'two' && this.ran.length === 2) await disturb();
          context.state.set(name, this.ran.length);
          return { done: name };
        },
      });
    const steps = [...TOOLS.map((name) => ({ calls: [{ name, args: {} }] })), 'all done'];
    const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(steps), tools: TOOLS.map(tool) });
    this.runner = new Runner({ appName: 'app', agent, sessionService: service, resumable: true, leaseTtlMs, platform });
  }

  async start(): Promise<Event[]> {
    await this.#service.createSession(KEY);
    return this.runner.run({ userId: 'user', sessionId: 'session', newMessage: { parts: [{ text: 'go' }] } });
  }

  /** The run is in the session once and whole, and has ended. */
  async expectWhole(): Promise<void> {
    const session = await this.#service.getSession(KEY);
    const events = session?.events ?? [];
    expect(events.flatMap(getFunctionResponses).map(({ response }) => response)).toEqual(
      TOOLS.map((done) => ({ done })),
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(events.filter(({ errorCode }) => errorCode)).toEqual([]);
    expect(Object.keys(session?.state ?? {}).sort()).toEqual([...TOOLS].sort());
    expect(this.ran).toEqual(TOOLS);
    expect((await this.#service.listOpenRuns({ appName: 'app' })).runs).toEqual([]);
  }
}

/** The work that runs in the background. */
const background: Promise<unknown>[] = [];

/** Does something in the background after a while. */
function later(ms: number, work: () => unknown): void {
  background.push(new Promise((resolve) => setTimeout(resolve, ms)).then(work));
}

/** Settles when the storage is as it was. */
async function untilQuiet(): Promise<void> {
  await Promise.all(background.splice(0));
}

describe('a run on PostgreSQL', () => {
  let postgres: Postgres;
  let proxy: Proxy;
  let pool: Pool;
  let databases = 0;
  beforeAll(async () => void (postgres = await startPostgres()));
  afterAll(() => postgres.stop());
  beforeEach(async () => {
    const url = new URL(postgres.url);
    const admin = new Pool({ connectionString: postgres.url });
    await admin.query(`CREATE DATABASE outage_${++databases}`);
    await admin.end();
    url.pathname = `/outage_${databases}`;
    proxy = await startProxy(url.href);
    // Nobody listens to it: that a connection is lost must not end this process.
    pool = new Pool({ connectionString: proxy.url, connectionTimeoutMillis: 1000 });
  });
  afterEach(async () => {
    proxy.resume();
    await pool.end();
    await proxy.close();
  });

  const service = () => new PostgresSessionService({ pool, queryTimeoutMs: 1000 });

  async function terminateAll(): Promise<void> {
    const admin = new Pool({ connectionString: postgres.url });
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
    await admin.end();
  }

  test.each<[string, () => unknown]>([
    ['loses its connections', terminateAll],
    ['is restarted', () => postgres.restart()],
    ['is restarted a little later', () => later(5, () => postgres.restart())],
    ['is stopped for two seconds', () => (proxy.stop(), later(2000, () => proxy.resume()))],
    ['is frozen for two seconds', () => (postgres.freeze(), later(2000, () => postgres.thaw()))],
    ['cannot be reached for two seconds', () => (proxy.freeze(), later(2000, () => proxy.resume()))],
  ])('continues when the server %s', async (_, disturb) => {
    const run = new DisturbedRun(service(), disturb);
    const events = await run.start();
    expect(events.map(({ content }) => content?.parts?.[0]?.text)).toContain('all done');
    await untilQuiet();
    await run.expectWhole();
  });

  test('whose start was stored but not acknowledged does not wait for its own lease', async () => {
    const run = new DisturbedRun(service(), () => undefined);
    const lost = proxy.loseAnswerTo('"text":"go"');
    const beganMs = performance.now();
    await run.start();
    await lost;
    await run.expectWhole();
    expect(performance.now() - beganMs).toBeLessThan(5000);
  });

  test('continues when it is resumed after an outage longer than its lease', async () => {
    const run = new DisturbedRun(service(), () => proxy.stop(), 1500);
    const error: unknown = await run.start().catch((thrown: unknown) => thrown);
    expect(StorageError.isInstance(error)).toBe(true);
    proxy.resume();
    const [open] = (await run.runner.listOpenRuns()).runs;
    const { invocationId } = open ?? expect.unreachable();
    expect((await service().getSession(KEY))?.events.filter(({ errorCode }) => errorCode)).toEqual([]);
    await run.runner.run({ userId: 'user', sessionId: 'session', invocationId }).catch((thrown: unknown) => thrown);
    const events = (await service().getSession(KEY))?.events ?? [];
    // The call whose end could not be recorded may have had its effect, and is not made again.
    expect(events.flatMap(getFunctionResponses)[1]?.response).toMatchObject({ error: 'interrupted' });
    expect(run.ran).toEqual(TOOLS);
    expect((await run.runner.listOpenRuns()).runs).toEqual([]);
  });
});

describe('a run on SQLite', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
    path = join(folder, 'sessions.db');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test.each([1000, 6000])('continues after another process locked the file for %d ms', async (ms) => {
    const sessions = new SqliteSessionService({ path });
    const stranger = new DatabaseSync(path);
    const run = new DisturbedRun(sessions, () => {
      stranger.exec('BEGIN IMMEDIATE');
      later(ms, () => stranger.exec('COMMIT'));
    });
    await run.start();
    await untilQuiet();
    await run.expectWhole();
    stranger.close();
    sessions.close();
  });

  /** Lets the file take no further page, and fills the pages that it has. */
  function fill(database: DatabaseSync): void {
    database.exec('CREATE TABLE filler (blob BLOB); PRAGMA max_page_count = 1');
    const filler = database.prepare('INSERT INTO filler VALUES (zeroblob(1900))');
    expect(() => Array.from({ length: 100 }, () => filler.run())).toThrow('full');
  }

  test('continues after the disk was full for a while', async () => {
    const database = new DatabaseSync(path);
    const sessions = new SqliteSessionService({ database });
    const run = new DisturbedRun(sessions, () => {
      fill(database);
      later(2000, () => database.exec('PRAGMA max_page_count = 1000000'));
    });
    await run.start();
    await run.expectWhole();
    database.close();
  });

  test('ends with a StorageError if the disk stays full, and no failure is stored', async () => {
    const database = new DatabaseSync(path);
    const sessions = new SqliteSessionService({ database });
    const run = new DisturbedRun(sessions, () => fill(database), 1500);
    const beganMs = performance.now();
    const error: unknown = await run.start().catch((thrown: unknown) => thrown);
    expect(StorageError.isInstance(error)).toBe(true);
    expect(performance.now() - beganMs).toBeGreaterThan(1400);
    database.exec('PRAGMA max_page_count = 1000000');
    expect((await sessions.getSession(KEY))?.events.filter(({ errorCode }) => errorCode)).toEqual([]);
    expect((await sessions.listOpenRuns({ appName: 'app' })).runs).toHaveLength(1);
    database.close();
  });
});
