/**
 * Times one kind of turn on one side in a separate process, and prints microseconds per turn as JSON. Nothing else is compiled or kept in
 * the process, so garbage and types of one side do not slow down the other.
 *
 * W8 is a text turn and W8-calls a turn with 8 parallel tool calls, both on a SQLite file, in sessions of 100 turns.
 *
 * node src/alone/turn-process.ts <W1|W2|W3|W5|W8|W8-calls> <ours|floor> [checkout] [delete|keep] [rounds]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { summarize } from '../measure.ts';

const [workload = 'W1', side = 'ours', checkout = '', sessions = 'delete', rounds = '15'] = process.argv.slice(2);
const root = checkout === '' ? resolve(import.meta.dirname, '../../..') : resolve(checkout);

// The packages of the measured checkout: another commit has its own.
type Setup = typeof import('../setup.ts');
type Models = typeof import('../models.ts');
type Floor = typeof import('../floor.ts');
const { APP, createRunner, drain, floorTools, MESSAGE } = (await import(`${root}/bench/src/setup.ts`)) as Setup;
const { ChunkModel, InstantModel, ToolCallingModel } = (await import(`${root}/bench/src/models.ts`)) as Models;
const { createFloorSession, floorTurn } = (await import(`${root}/bench/src/floor.ts`)) as Floor;
const { InMemorySessionService } = (await import(
  `${root}/packages/sessions/src/index.ts`
)) as typeof import('@eventloom/sessions');
const { SqliteSessionService } = (await import(
  `${root}/packages/sessions/src/sqlite/index.ts`
)) as typeof import('@eventloom/sessions/sqlite');

const CHUNKS = 2000;
const workloads = {
  W1: { model: new InstantModel(), turns: 2000, perTurn: 1, warmUp: 15 },
  W2: { model: new ToolCallingModel(10), turns: 500, perTurn: 1, warmUp: 20 },
  W3: { model: new ChunkModel(CHUNKS), turns: 5, perTurn: CHUNKS, warmUp: 15 },
  W5: { model: new ToolCallingModel(1, 8), turns: 500, perTurn: 1, warmUp: 30 },
  W8: { model: new InstantModel(), turns: 1000, perTurn: 1, warmUp: 15 },
  'W8-calls': { model: new ToolCallingModel(1, 8), turns: 200, perTurn: 1, warmUp: 40 },
};
const { model, turns, perTurn, warmUp } = workloads[workload as keyof typeof workloads];
const streams = workload === 'W3';

const folder = workload.startsWith('W8') ? mkdtempSync(join(tmpdir(), 'eventloom-bench-')) : undefined;
const SQLITE_TURNS = 100;
const service = folder ? new SqliteSessionService({ path: join(folder, 'sessions.db') }) : new InMemorySessionService();
const runner = createRunner(model, service);
const kept = new Map<string, unknown>();
let id = 0;

async function ourTurn(): Promise<void> {
  const sessionId = `s${id++}`;
  await service.createSession({ ...APP, sessionId });
  const runConfig = streams ? { streamingMode: 'sse' as const } : undefined;
  await drain(runner.runAsync({ userId: APP.userId, sessionId, newMessage: MESSAGE, runConfig }));
  if (sessions === 'delete') await service.deleteSession({ ...APP, sessionId });
}

async function floorsTurn(): Promise<void> {
  const session = createFloorSession(`s${id++}`);
  kept.set(session.id, session);
  await drain(floorTurn(session, model, MESSAGE, { tools: floorTools, stream: streams }));
  if (sessions === 'delete') kept.delete(session.id);
}

async function ourSqliteTurn(): Promise<void> {
  const sessionId = `s${Math.floor(id / SQLITE_TURNS)}`;
  if (id++ % SQLITE_TURNS === 0) await service.createSession({ ...APP, sessionId });
  await drain(runner.runAsync({ userId: APP.userId, sessionId, newMessage: MESSAGE }));
}

/** Creates turns of the floor that insert each event as JSON into a SQLite file. */
function floorsSqliteTurn(path: string): () => Promise<void> {
  const database = new DatabaseSync(path);
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE events (seq INTEGER PRIMARY KEY, json TEXT) STRICT',
  );
  const insert = database.prepare('INSERT INTO events (json) VALUES (?)');
  const store = (event: unknown): void => void insert.run(JSON.stringify(event));
  let session = createFloorSession('s');
  return async () => {
    if (id++ % SQLITE_TURNS === 0) session = createFloorSession(`s${id}`);
    await drain(floorTurn(session, model, MESSAGE, { tools: floorTools, store }));
  };
}

const floorOnce = folder ? floorsSqliteTurn(join(folder, 'floor.db')) : floorsTurn;
const once = side === 'floor' ? floorOnce : folder ? ourSqliteTurn : ourTurn;
const round = async (): Promise<number> => {
  for (let index = 0; index < turns; index++) await once();
  return turns * perTurn;
};
// Processor time instead of wall time, because other processes may use the processor in between. It includes the
// threads that compile, which are busy with the code of a turn for its first ten thousand turns.
const us: number[] = [];
for (let index = -warmUp; index < Number(rounds); index++) {
  const start = process.cpuUsage();
  const done = await round();
  const { user, system } = process.cpuUsage(start);
  if (index >= 0) us.push((user + system) / done);
}
if (folder) rmSync(folder, { recursive: true });
console.log(JSON.stringify(summarize(us)));
