import assert from 'node:assert';
import { systemPlatform } from '@eventloom/core';
import { useTestDatabase } from '@eventloom/test-postgres';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RelayedLog, RunFrame } from '../runs/run-relay.ts';
import type { PostgresPool } from '@eventloom/core/internal';
import { RelayDatabase } from './relay-database.ts';
import { relayStatements } from './relay-statements.ts';
import { relayTablesOf } from './relay-tables.ts';
import { RunPublisher } from './run-publisher.ts';
import { RelayTable } from './run-table.ts';

const { pool } = useTestDatabase();
/** Holds back the next write of the pool, which fails for its caller, and delivers it on request of the test. */
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

/** A log with the frames that a test gives it. */
class SaidRun implements RelayedLog {
  readonly key = { appName: 'app', userId: 'ann', sessionId: 's' };
  readonly earlyEnd = undefined;
  readonly requestId = undefined;
  readonly chars = 0;
  readonly invocationId: string;
  readonly attempt: number;
  readonly gonePosition: number;
  isEnded = false;
  readonly #frames: RunFrame[] = [];

  constructor(invocationId: string, attempt: number, gonePosition = 0) {
    this.invocationId = invocationId;
    this.attempt = attempt;
    this.gonePosition = gonePosition;
  }

  get lastPosition(): number {
    return this.gonePosition + this.#frames.length;
  }

  framesAfter(position: number): RunFrame[] {
    return this.#frames.filter((frame) => frame.position > position);
  }

  say(text: string): void {
    this.#frames.push({ position: this.lastPosition + 1, json: text });
  }
}

const MINUTE_MS = 60_000;

let invocationId: string;
let holding: HoldingPool;
let publisher: RunPublisher;
beforeEach(() => {
  invocationId = crypto.randomUUID();
  holding = new HoldingPool();
  const tables = relayTablesOf(undefined);
  const relayDatabase = new RelayDatabase(holding, tables, systemPlatform, MINUTE_MS);
  const table = new RelayTable(relayDatabase, relayStatements(tables), crypto.randomUUID(), MINUTE_MS, MINUTE_MS);
  const host = { platform: systemPlatform, report: () => undefined };
  publisher = new RunPublisher(table, host, 1_000_000, () => undefined);
});
afterEach(() => publisher.close());

interface Row {
  readonly state: string;
  readonly last_position: number;
  readonly is_over: boolean;
}

async function row(): Promise<Row | undefined> {
  const text = `SELECT state, last_position::float8 AS last_position, expires_at IS NOT NULL AS is_over
    FROM eventloom_relay_runs WHERE invocation_id = $1`;
  return (await pool.query<Row>(text, [invocationId])).rows[0];
}

/** A run whose write of the first event is held back. */
async function startHeld() {
  const run = new SaidRun(invocationId, 1);
  const publication = publisher.publish(run);
  await publication.announced;
  holding.holdNextWrite();
  run.say('one');
  publication.notify();
  await expect.poll(() => holding.isHolding).toBe(true);
  return { run, publication };
}

test('a late write does not reopen a completed run', async () => {
  const { run, publication } = await startHeld();
  run.isEnded = true;
  publication.notify();
  const end = { state: 'ended', last_position: 1, is_over: true };
  await expect.poll(row).toEqual(end);
  await holding.deliver();
  expect(await row()).toEqual(end);
});

test('a late write does not undo a later one', async () => {
  const { run, publication } = await startHeld();
  run.say('two');
  publication.notify();
  const later = { state: 'running', last_position: 2, is_over: false };
  await expect.poll(row).toEqual(later);
  await holding.deliver();
  expect(await row()).toEqual(later);
});

test('a resumed run is active again, and a late write of its earlier end is ignored', async () => {
  const run = new SaidRun(invocationId, 1);
  const publication = publisher.publish(run);
  await publication.announced;
  holding.holdNextWrite();
  run.say('one');
  run.isEnded = true;
  publication.notify();
  await expect.poll(row).toMatchObject({ state: 'ended' });
  const again = new SaidRun(invocationId, 2, 1);
  const republished = publisher.publish(again);
  await republished.announced;
  const alive = { state: 'running', is_over: false };
  expect(await row()).toEqual({ ...alive, last_position: 1 });
  await holding.deliver();
  expect(await row()).toEqual({ ...alive, last_position: 1 });
  again.say('two');
  republished.notify();
  await expect.poll(row).toEqual({ ...alive, last_position: 2 });
});
