import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { bytesWrittenBy } from '../bytes-written.ts';
import { createFloorSession, floorTurn } from '../floor.ts';
import { summarize } from '../measure.ts';
import { InstantModel } from '../models.ts';
import { ratioRow, type Row } from '../report.ts';
import { APP, createRunner, drain, MESSAGE, turn } from '../setup.ts';

const TURNS = 1000;

/** The cost of one thousand turns on a file. */
interface Cost {
  readonly earlyUs: number;
  readonly lateUs: number;
  readonly bytesWritten: number;
  readonly bytesStored: number;
}

/**
 * W8: 1,000 turns in one session on a SQLite file, compared with a prepared insert of the same events in the same kind
 * of file.
 */
export async function sqliteSession(): Promise<Row[]> {
  const ours: Cost[] = [];
  const floor: Cost[] = [];
  for (let repetition = 0; repetition < 6; repetition++) {
    ours.push(await inFolder(measureOurs));
    floor.push(await inFolder(measureFloor));
  }
  const median = (costs: readonly Cost[], pick: (cost: Cost) => number): number =>
    summarize(costs.slice(1).map(pick)).medianUs;
  const late = median(ours, (cost) => cost.lateUs);
  const early = median(ours, (cost) => cost.earlyUs);
  return [
    ratioRow(
      'W8',
      'SQLite turn at 1,000',
      'µs',
      late,
      median(floor, (cost) => cost.lateUs),
      2.5,
    ),
    {
      workload: 'W8',
      figure: 'turn 1,000 against turn 10',
      unit: 'µs',
      ours: late,
      floor: early,
      target: '≤ 1.2× turn 10',
      ok: late / early <= 1.2,
    },
    {
      workload: 'W8',
      figure: 'bytes written per turn, against the floor',
      unit: 'B',
      ours: median(ours, (cost) => cost.bytesWritten) / TURNS,
      floor: median(floor, (cost) => cost.bytesWritten) / TURNS,
    },
    ratioRow(
      'W8',
      'bytes written per turn, against its events',
      'B',
      median(ours, (cost) => cost.bytesWritten) / TURNS,
      median(ours, (cost) => cost.bytesStored) / TURNS,
      3,
    ),
  ];
}

async function inFolder(measure: (file: string) => Promise<Cost>): Promise<Cost> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  try {
    return await measure(join(folder, 'sessions.db'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function measureOurs(file: string): Promise<Cost> {
  const sessions = new SqliteSessionService({ path: file });
  const runner = createRunner(new InstantModel(), sessions);
  await sessions.createSession({ ...APP, sessionId: 's' });
  const cost = await timeTurns(() => turn(runner, 's'));
  const stored = await sessions.getSession({ ...APP, sessionId: 's' });
  sessions.close();
  return { ...cost, bytesStored: JSON.stringify(stored?.events).length };
}

async function measureFloor(file: string): Promise<Cost> {
  const database = new DatabaseSync(file);
  database.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE events (seq INTEGER PRIMARY KEY, json TEXT) STRICT',
  );
  const insert = database.prepare('INSERT INTO events (json) VALUES (?)');
  const session = createFloorSession('f');
  const model = new InstantModel();
  const store = (event: unknown): void => {
    insert.run(JSON.stringify(event));
  };
  const cost = await timeTurns(() => drain(floorTurn(session, model, MESSAGE, { store })));
  database.close();
  return { ...cost, bytesStored: JSON.stringify(session.events).length };
}

async function timeTurns(run: () => Promise<unknown>): Promise<Omit<Cost, 'bytesStored'>> {
  const times: number[] = [];
  const written = bytesWrittenBy('self');
  for (let index = 0; index < TURNS; index++) {
    const start = performance.now();
    await run();
    times.push((performance.now() - start) * 1000);
  }
  return {
    earlyUs: summarize(times.slice(5, 45)).medianUs,
    lateUs: summarize(times.slice(-40)).medianUs,
    bytesWritten: bytesWrittenBy('self') - written,
  };
}
