/**
 * Counts what turns cost, in a separate process, and prints the counts as JSON. With these flags, counts do not depend on the
 * load of the machine, so they can have fixed limits; times cannot.
 *
 * node --expose-gc --min-semi-space-size=256 --max-semi-space-size=256 --no-concurrent-recompilation src/counts/count-turns.ts [floor]
 */
import { createHook } from 'node:async_hooks';
import { StatementSync } from 'node:sqlite';
import type { BaseLlm, BaseSessionService, LlmRequest, LlmResponse, RunConfig } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { createFloorSession, floorTurn } from '../floor.ts';
import { ChunkModel, InstantModel, ToolCallingModel } from '../models.ts';
import { APP, createAgent, createRunner, drain, floorTools, MESSAGE, turn } from '../setup.ts';
import type { CountedTurn, TurnCounts } from './turn-counts.ts';

/** Number of turns after which all code of a turn is compiled. */
const WARM_UP = 1500;
const TURNS = 100;
const ROUNDS = 7;
const KEPT_ROUNDS = 10;
const CHUNKS = 20;
/** Number of runs that wait for their model at the same time. */
const WAITING = 1000;
const NOTHING: TurnCounts = {
  bytes: 0,
  keptBytes: 0,
  promises: 0,
  freezes: 0,
  clockReads: 0,
  storeCalls: 0,
  statements: 0,
  transactions: 0,
};

const collect = globalThis.gc;
if (!collect) throw new Error('count-turns: run node with --expose-gc');

const [side] = process.argv.slice(2);
const models: Record<'text' | 'tenCalls' | 'parallelCalls' | 'chunks', BaseLlm> = {
  text: new InstantModel(),
  tenCalls: new ToolCallingModel(10),
  parallelCalls: new ToolCallingModel(1, 8),
  chunks: new ChunkModel(CHUNKS),
};
const counts: Partial<Record<CountedTurn, TurnCounts>> = {};
for (const [name, model] of Object.entries(models)) {
  const stream = name === 'chunks';
  counts[name as CountedTurn] = await count(side === 'floor' ? floor(model, stream) : inFreshSessions(model, stream));
}
if (side !== 'floor') {
  counts.sqlite = await count(await inOneSqliteSession(models.text));
  counts.agent = await count(async () => void createAgent(models.text));
  counts.waiting = { ...NOTHING, bytes: await countWaitingBytes() };
  // Last, because its session grows.
  counts.sqliteCalls = await count(await inOneSqliteSession(models.parallelCalls));
}
console.log(JSON.stringify(counts));

/** Runs a turn in a session that is created before it and deleted after it. */
function inFreshSessions(model: BaseLlm, stream: boolean): () => Promise<void> {
  const sessions = new InMemorySessionService();
  const runner = createRunner(model, sessions);
  const runConfig: RunConfig | undefined = stream ? { streamingMode: 'sse' } : undefined;
  let id = 0;
  return async () => {
    const sessionId = `s${id++}`;
    await sessions.createSession({ ...APP, sessionId });
    await turn(runner, sessionId, runConfig);
    await sessions.deleteSession({ ...APP, sessionId });
  };
}

/** Runs one more turn in a SQLite session that the runner has cached. */
async function inOneSqliteSession(model: BaseLlm): Promise<() => Promise<void>> {
  const sessions: BaseSessionService = new SqliteSessionService({ path: ':memory:' });
  const runner = createRunner(model, sessions);
  await sessions.createSession({ ...APP, sessionId: 's' });
  return async () => void (await turn(runner, 's'));
}

function floor(model: BaseLlm, stream: boolean): () => Promise<void> {
  let id = 0;
  return async () =>
    void (await drain(floorTurn(createFloorSession(`f${id++}`), model, MESSAGE, { tools: floorTools, stream })));
}

/** Counts the bytes of a run and its session while the model works; several runs wait for it at the same time. */
async function countWaitingBytes(): Promise<number> {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  let waiting = 0;
  class WaitingModel extends InstantModel {
    override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
      if (++waiting === WAITING) asked.resolve();
      await answered.promise;
      yield* super.generateContentAsync(request);
    }
  }
  const sessions = new InMemorySessionService();
  const runner = createRunner(new WaitingModel(), sessions);
  collect?.();
  const before = process.memoryUsage().heapUsed;
  const running = Array.from({ length: WAITING }, async (_, index) => {
    await sessions.createSession({ ...APP, sessionId: `s${index}` });
    return turn(runner, `s${index}`);
  });
  await asked.promise;
  collect?.();
  const held = process.memoryUsage().heapUsed - before;
  answered.resolve();
  await Promise.all(running);
  return Math.round(held / WAITING);
}

async function count(work: () => Promise<void>): Promise<TurnCounts> {
  for (let index = 0; index < WARM_UP; index++) await work();
  return {
    bytes: await countBytes(work),
    keptBytes: await countKeptBytes(work),
    promises: await countPromises(work),
    ...(await countCalls(work)),
  };
}

/**
 * Counts the bytes that a turn allocates. The new space is so large that nothing is collected; other work of the
 * process can only add to the count.
 */
async function countBytes(work: () => Promise<void>): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    collect?.();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < TURNS; index++) await work();
    least = Math.min(least, process.memoryUsage().heapUsed - before);
  }
  return Math.round(least / TURNS);
}

/**
 * Counts the bytes of a turn that survive collections of the young generation although they are garbage, as a full
 * collection shows. V8 moves such objects to the old generation because a dead object refers to them; each young
 * collection then becomes as slow as a full one.
 */
async function countKeptBytes(work: () => Promise<void>): Promise<number> {
  collect?.();
  for (let round = 0; round < KEPT_ROUNDS; round++) {
    for (let index = 0; index < TURNS; index++) await work();
    collect?.({ type: 'minor' });
  }
  const before = process.memoryUsage().heapUsed;
  collect?.();
  return Math.round((before - process.memoryUsage().heapUsed) / (KEPT_ROUNDS * TURNS));
}

async function countPromises(work: () => Promise<void>): Promise<number> {
  let promises = 0;
  const hook = createHook({ init: (_id, type) => void (type === 'PROMISE' && promises++) }).enable();
  for (let index = 0; index < TURNS; index++) await work();
  hook.disable();
  return perTurn(promises);
}

/** Counts calls of functions that a turn should rarely make. */
async function countCalls(work: () => Promise<void>): Promise<Omit<TurnCounts, 'bytes' | 'keptBytes' | 'promises'>> {
  const calls = { freezes: 0, clockReads: 0, storeCalls: 0, statements: 0, transactions: 0 };
  const watched = [watch(Object, 'freeze', () => calls.freezes++), watch(Date, 'now', () => calls.clockReads++)];
  // The service class of all back ends.
  const service: object = Object.getPrototypeOf(InMemorySessionService.prototype);
  for (const method of Object.getOwnPropertyNames(service))
    if (method !== 'constructor') watched.push(watch(service, method, () => calls.storeCalls++));
  let isInTransaction = false;
  const countStatement = (statement: unknown): void => {
    if (!(statement instanceof StatementSync)) return;
    const sql = statement.sourceSQL;
    const isBoundary = /^(BEGIN|COMMIT|ROLLBACK)/.test(sql);
    if (!isBoundary) calls.statements++;
    // A statement outside of a transaction is its own transaction.
    if (sql.startsWith('BEGIN') || (!isBoundary && !isInTransaction)) calls.transactions++;
    if (isBoundary) isInTransaction = sql.startsWith('BEGIN');
  };
  for (const method of ['run', 'get', 'all']) watched.push(watch(StatementSync.prototype, method, countStatement));
  for (let index = 0; index < TURNS; index++) await work();
  for (const stop of watched) stop();
  const { freezes, clockReads, storeCalls, statements, transactions } = calls;
  return {
    freezes: perTurn(freezes),
    clockReads: perTurn(clockReads),
    storeCalls: perTurn(storeCalls),
    statements: perTurn(statements),
    transactions: perTurn(transactions),
  };
}

/** Calls `onCall` for each call of a method until the returned function is called. */
function watch(owner: object, name: string, onCall: (self: unknown) => void): () => void {
  const original: unknown = Reflect.get(owner, name);
  if (typeof original !== 'function') return () => undefined;
  const watched = function (this: unknown, ...given: unknown[]): unknown {
    onCall(this);
    return Reflect.apply(original, this, given);
  };
  Reflect.set(owner, name, watched);
  return () => void Reflect.set(owner, name, original);
}

function perTurn(total: number): number {
  return Math.round((total / TURNS) * 10) / 10;
}
