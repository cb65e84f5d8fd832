import assert from 'node:assert';
import { systemPlatform } from '@eventloom/core';
import { createTestDatabase, type TestDatabase } from '@eventloom/test-postgres';
import { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { firstSeqOfAttempt } from '../runs/attempt-numbers.ts';
import type { RelayedRun } from '../runs/run-relay.ts';
import { SOON } from './fixtures/two-servers.ts';
import type { PostgresPool } from './postgres-pool.ts';
import { RelayDatabase } from './relay-database.ts';
import { relayStatements } from './relay-statements.ts';
import { relayTablesOf } from './relay-tables.ts';
import { RunPublisher } from './run-publisher.ts';
import { RunTable } from './run-table.ts';

let database: TestDatabase;
let pool: Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** Holds back the next write of the pool, which fails for whoever sent it, and delivers it when a test says so. */
class HoldingPool implements PostgresPool {
  #isArmed = false;
  #held: (() => Promise<unknown>) | undefined;

  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  connect(): ReturnType<PostgresPool['connect']> {
    return pool.connect();
  }

  async query(query: Parameters<PostgresPool['query']>[0]): ReturnType<PostgresPool['query']> {
    if (!this.#isArmed || !query.text.includes('WITH batch')) return pool.query(query);
    this.#isArmed = false;
    this.#held = () => pool.query(query);
    throw new Error('the connection was lost');
  }

  holdNextWrite(): void {
    this.#isArmed = true;
  }

  async deliver(): Promise<void> {
    assert(this.#held);
    await this.#held();
  }
}

/** A run that says what a test has it say. */
class SaidRun implements RelayedRun {
  readonly isRetold = false;
  readonly key = { appName: 'app', userId: 'ann', sessionId: 's' };
  readonly failureText = undefined;
  readonly #texts: string[] = [];
  readonly #firstSeq: number;
  readonly invocationId: string;
  isEnded = false;

  constructor(invocationId: string, firstSeq: number) {
    this.invocationId = invocationId;
    this.#firstSeq = firstSeq;
  }

  get buffer(): RelayedRun['buffer'] {
    const firstSeq = this.#firstSeq;
    return {
      firstSeq,
      lastSeq: firstSeq + this.#texts.length - 1,
      chars: this.#texts.join('').length,
      at: (seq) => this.#texts[seq - firstSeq],
    };
  }

  say(text: string): void {
    this.#texts.push(text);
  }
}

let invocationId: string;
let holding: HoldingPool;
let publisher: RunPublisher;
beforeEach(() => {
  invocationId = crypto.randomUUID();
  holding = new HoldingPool();
  const tables = relayTablesOf(undefined);
  const relayDatabase = new RelayDatabase(holding, tables, systemPlatform, SOON.timeout);
  const table = new RunTable(relayDatabase, relayStatements(tables), crypto.randomUUID(), SOON.timeout, 60_000);
  const host = { platform: systemPlatform, report: () => undefined };
  publisher = new RunPublisher(table, host, 1_000_000, () => undefined);
});
afterEach(() => publisher.close());

interface Row {
  readonly state: string;
  readonly last_seq: number;
  readonly is_over: boolean;
}

async function row(): Promise<Row | undefined> {
  const text = `SELECT state, last_seq::float8 AS last_seq, expires_at IS NOT NULL AS is_over
    FROM eventloom_runs WHERE invocation_id = $1`;
  return (await pool.query<Row>(text, [invocationId])).rows[0];
}

/** A run of which the write of the first event is held back. */
async function startHeld() {
  const run = new SaidRun(invocationId, 1);
  const publication = publisher.publish(run);
  await publication.announced;
  holding.holdNextWrite();
  run.say('one');
  publication.notify(true);
  await expect.poll(() => holding.isHolding, SOON).toBe(true);
  return { run, publication };
}

test('a write that comes after the end of its run does not bring it back to life', async () => {
  const { run, publication } = await startHeld();
  run.isEnded = true;
  publication.notify(true);
  const end = { state: 'ended', last_seq: 1, is_over: true };
  await expect.poll(row, SOON).toEqual(end);
  await holding.deliver();
  expect(await row()).toEqual(end);
});

test('a write that comes after a later one takes nothing of it back', async () => {
  const { run, publication } = await startHeld();
  run.say('two');
  publication.notify(true);
  const later = { state: 'running', last_seq: 2, is_over: false };
  await expect.poll(row, SOON).toEqual(later);
  await holding.deliver();
  expect(await row()).toEqual(later);
});

test('a run that ended and goes on in the same process lives again, and its former end does not come late', async () => {
  const run = new SaidRun(invocationId, 1);
  const publication = publisher.publish(run);
  await publication.announced;
  holding.holdNextWrite();
  run.say('one');
  run.isEnded = true;
  publication.notify(true);
  await expect.poll(row, SOON).toMatchObject({ state: 'ended' });
  const firstSeq = firstSeqOfAttempt(Date.now(), 1);
  const again = new SaidRun(invocationId, firstSeq);
  const goingOn = publisher.publish(again);
  await goingOn.announced;
  const alive = { state: 'running', is_over: false };
  expect(await row()).toEqual({ ...alive, last_seq: firstSeq - 1 });
  await holding.deliver();
  expect(await row()).toEqual({ ...alive, last_seq: firstSeq - 1 });
  again.say('two');
  goingOn.notify(true);
  await expect.poll(row, SOON).toEqual({ ...alive, last_seq: firstSeq });
});
