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
import { type FixedPlatform, fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

const KEY = { appName: 'app', userId: 'user', sessionId: 'session' };
const TOOLS = ['one', 'two', 'three'];
/** The lease of a run whose clock the test moves. */
const TTL_MS = 15_000;
const DAY_MS = 86_400_000;

/** A run of three tool calls; the storage is disturbed before the second one. */
const platform: Platform = { ...systemPlatform, background: (work) => void work.catch(() => undefined) };

/** A run of three tool calls, before the second of which something happens to the storage. */
class DisturbedRun {
  readonly runner: Runner;
  readonly ran: string[] = [];

  /** @param clock of the run; the system's clock gives it an hour to wait for the storage */
  constructor(service: BaseSessionService, disturb: () => unknown, clock?: FixedPlatform) {
    const leaseTtlMs = clock ? TTL_MS : 3_600_000;
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
    this.runner = new Runner({
      appName: 'app',
      agent,
      sessionService: service,
      resumable: true,
      leaseTtlMs,
      platform: clock ?? platform,
    });
  }

  async start(): Promise<Event[]> {
    return this.runner.run({ userId: 'user', sessionId: 'session', newMessage: { parts: [{ text: 'go' }] } });
  }

  /** Expects that the run is in the session once and whole, and has ended. */
  async expectWhole(service: BaseSessionService): Promise<void> {
    const session = await service.getSession(KEY);
    const events = session?.events ?? [];
    expect(events.flatMap(getFunctionResponses).map(({ response }) => response)).toEqual(
      TOOLS.map((done) => ({ done })),
    );
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(events.filter(({ errorCode }) => errorCode)).toEqual([]);
    expect(Object.keys(session?.state ?? {}).sort()).toEqual([...TOOLS].sort());
    expect(this.ran).toEqual(TOOLS);
    expect((await service.listOpenRuns({ appName: 'app' })).runs).toEqual([]);
  }
}

/** Waits for work after the run was disturbed, and lets time pass until it is done. */
async function overTime<T>(clock: FixedPlatform, run: DisturbedRun, work: Promise<T>): Promise<T> {
  let isDone = false;
  void work.finally(() => (isDone = true));
  const pass = () => {
    if (run.ran.length > 1) clock.advance(500);
    return isDone;
  };
  await expect.poll(pass, { interval: 10 }).toBe(true);
  return work;
}

/** The work that runs in the background. */
const background: Promise<unknown>[] = [];

/** Schedules work in the background. */
function later(ms: number, work: () => unknown): void {
  background.push(new Promise((resolve) => setTimeout(resolve, ms)).then(work));
}

/** Resolves when the storage is restored. */
async function untilQuiet(): Promise<void> {
  await Promise.all(background.splice(0));
}

describe('a run on PostgreSQL', () => {
  let postgres: Postgres;
  let proxy: Proxy;
  let pool: Pool;
  let impatientPool: Pool;
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
    // Nobody listens to this pool: the loss of a connection must not end this process.
    pool = new Pool({ connectionString: proxy.url });
    impatientPool = new Pool({ connectionString: proxy.url, connectionTimeoutMillis: 1000 });
    await patient().createSession(KEY);
  });
  afterEach(async () => {
    proxy.resume();
    await Promise.all([pool.end(), impatientPool.end()]);
    await proxy.close();
  });

  /** Takes a statement that needs longer than a second for failed: a run repeats it. */
  const impatient = () => new PostgresSessionService({ pool: impatientPool, queryTimeoutMs: 1000 });
  const patient = (clock?: FixedPlatform) =>
    new PostgresSessionService({
      pool,
      queryTimeoutMs: DAY_MS,
      ...(clock ? { platform: clock, leaseClock: 'platform' } : {}),
    });

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
    const run = new DisturbedRun(impatient(), disturb);
    const events = await run.start();
    expect(events.map(({ content }) => content?.parts?.[0]?.text)).toContain('all done');
    await untilQuiet();
    await run.expectWhole(patient());
  });

  test('whose start was stored but not acknowledged does not wait for its own lease', async () => {
    // Its lease is an hour long.
    const run = new DisturbedRun(patient(), () => undefined);
    const lost = proxy.loseAnswerTo('"text":"go"');
    await run.start();
    await lost;
    await run.expectWhole(patient());
  });

  test.each(['a run', 'a rewind'])('that does not answer refuses %s after 10 seconds', async (what) => {
    const clock = fixedPlatform();
    const sessions = new PostgresSessionService({ pool, platform: clock });
    const run = new DisturbedRun(sessions, () => undefined, clock);
    const [{ invocationId } = expect.unreachable()] = await run.start();
    const ids = { userId: 'user', sessionId: 'session' };
    proxy.freeze();
    const beganMs = clock.now();
    const refused =
      what === 'a run' ? run.start() : run.runner.rewindAsync({ ...ids, rewindBeforeInvocationId: invocationId });
    const error = await overTime(
      clock,
      run,
      refused.catch((thrown: unknown) => thrown),
    );
    expect(error).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(clock.now() - beganMs).toBeGreaterThanOrEqual(10_000);
    expect(clock.now() - beganMs).toBeLessThan(12_000);
  });

  test('continues when it is resumed after an outage longer than its lease', async () => {
    const clock = fixedPlatform();
    const sessions = patient(clock);
    const run = new DisturbedRun(sessions, () => proxy.stop(), clock);
    const error = await overTime(
      clock,
      run,
      run.start().catch((thrown: unknown) => thrown),
    );
    expect(StorageError.isInstance(error)).toBe(true);
    proxy.resume();
    const [open] = (await run.runner.listOpenRuns()).runs;
    const { invocationId } = open ?? expect.unreachable();
    expect((await sessions.getSession(KEY))?.events.filter(({ errorCode }) => errorCode)).toEqual([]);
    const resumed = run.runner.run({ userId: 'user', sessionId: 'session', invocationId });
    await overTime(
      clock,
      run,
      resumed.catch((thrown: unknown) => thrown),
    );
    const events = (await sessions.getSession(KEY))?.events ?? [];
    // The call whose end could not be recorded may have had its effect, so it is not repeated.
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
    await sessions.createSession(KEY);
    const stranger = new DatabaseSync(path);
    const run = new DisturbedRun(sessions, () => {
      stranger.exec('BEGIN IMMEDIATE');
      later(ms, () => stranger.exec('COMMIT'));
    });
    await run.start();
    await untilQuiet();
    await run.expectWhole(sessions);
    stranger.close();
    sessions.close();
  });

  /** Prevents the file from growing, and fills its pages. */
  function fill(database: DatabaseSync): void {
    database.exec('CREATE TABLE filler (blob BLOB); PRAGMA max_page_count = 1');
    const filler = database.prepare('INSERT INTO filler VALUES (zeroblob(1900))');
    expect(() => Array.from({ length: 100 }, () => filler.run())).toThrow('full');
  }

  test('continues after the disk was full for a while', async () => {
    const database = new DatabaseSync(path);
    const sessions = new SqliteSessionService({ database });
    await sessions.createSession(KEY);
    const run = new DisturbedRun(sessions, () => {
      fill(database);
      later(2000, () => database.exec('PRAGMA max_page_count = 1000000'));
    });
    await run.start();
    await untilQuiet();
    await run.expectWhole(sessions);
    database.close();
  });

  test('ends with a StorageError if the disk stays full, and no failure is stored', async () => {
    const database = new DatabaseSync(path);
    const clock = fixedPlatform();
    const sessions = new SqliteSessionService({ database, platform: clock });
    await sessions.createSession(KEY);
    const run = new DisturbedRun(sessions, () => fill(database), clock);
    const beganMs = clock.now();
    const error = await overTime(
      clock,
      run,
      run.start().catch((thrown: unknown) => thrown),
    );
    expect(StorageError.isInstance(error)).toBe(true);
    expect(clock.now() - beganMs).toBeGreaterThanOrEqual(TTL_MS);
    database.exec('PRAGMA max_page_count = 1000000');
    expect((await sessions.getSession(KEY))?.events.filter(({ errorCode }) => errorCode)).toEqual([]);
    expect((await sessions.listOpenRuns({ appName: 'app' })).runs).toHaveLength(1);
    database.close();
  });
});
