import type { BaseLlm } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { createFloorSession, type FloorSession, floorTurn } from '../floor.ts';
import { compare, type Measurement, summarize } from '../measure.ts';
import { ChunkModel, InstantModel, ToolCallingModel } from '../models.ts';
import { ratioRow, type Row } from '../report.ts';
import { APP, createRunner, drain, floorTools, MESSAGE, turn } from '../setup.ts';

function median(measurements: Map<string, Measurement>, name: string): number {
  return measurements.get(name)?.medianUs ?? Number.NaN;
}

/**
 * Times turns in sessions that are created before and deleted after them, of the runtime and of the baseline, in
 * microseconds per turn.
 */
async function freshTurns(model: BaseLlm, count: number): Promise<{ readonly ours: number; readonly floor: number }> {
  const sessions = new InMemorySessionService();
  const runner = createRunner(model, sessions);
  const store = new Map<string, FloorSession>();
  let id = 0;
  const measured = await compare([
    {
      name: 'ours',
      async round() {
        for (let index = 0; index < count; index++) {
          const sessionId = `s${id++}`;
          await sessions.createSession({ ...APP, sessionId });
          await turn(runner, sessionId);
          await sessions.deleteSession({ ...APP, sessionId });
        }
        return count;
      },
    },
    {
      name: 'floor',
      async round() {
        for (let index = 0; index < count; index++) {
          const session = createFloorSession(`f${id++}`);
          store.set(session.id, session);
          await drain(floorTurn(session, model, MESSAGE, { tools: floorTools }));
          store.delete(session.id);
        }
        return count;
      },
    },
  ]);
  return { ours: median(measured, 'ours'), floor: median(measured, 'floor') };
}

/** W1: one text turn in a fresh session. */
export async function textTurn(): Promise<Row[]> {
  const { ours, floor } = await freshTurns(new InstantModel(), 2000);
  return [ratioRow('W1', 'one text turn, fresh session', 'µs', ours, floor, 2)];
}

/** W2: a turn with 10 consecutive tool calls; W5: a turn with 8 concurrent ones. */
export async function toolTurns(): Promise<Row[]> {
  const inRow = await freshTurns(new ToolCallingModel(10), 500);
  const parallel = await freshTurns(new ToolCallingModel(1, 8), 500);
  return [
    ratioRow('W2', 'turn with 10 tool calls in a row', 'µs', inRow.ours, inRow.floor, 2.1),
    ratioRow('W5', 'turn with 8 parallel tool calls', 'µs', parallel.ours, parallel.floor, 4.2),
  ];
}

/** W3: a reply of 2,000 chunks. */
export async function chunkedReply(): Promise<Row[]> {
  const chunks = 2000;
  const model = new ChunkModel(chunks);
  const sessions = new InMemorySessionService();
  const runner = createRunner(model, sessions);
  const firstUs: number[] = [];
  let id = 0;
  const measured = await compare(
    [
      {
        name: 'ours',
        async round() {
          const sessionId = `s${id++}`;
          await sessions.createSession({ ...APP, sessionId });
          const start = performance.now();
          let seen = 0;
          for await (const _ of runner.runAsync({
            ...APP,
            sessionId,
            newMessage: MESSAGE,
            runConfig: { streamingMode: 'sse' },
          })) {
            if (seen++ === 0) firstUs.push((performance.now() - start) * 1000);
          }
          return chunks;
        },
      },
      {
        name: 'floor',
        async round() {
          await drain(floorTurn(createFloorSession('f'), model, MESSAGE, { stream: true }));
          return chunks;
        },
      },
    ],
    60,
    20,
  );
  const firstMs = summarize(firstUs.slice(20)).medianUs / 1000;
  return [
    ratioRow('W3', 'reply of 2,000 chunks, per chunk', 'µs', median(measured, 'ours'), median(measured, 'floor'), 1.4),
    { workload: 'W3', figure: 'first event', unit: 'ms', ours: firstMs, target: '≤ 0.12 ms', ok: firstMs <= 0.12 },
  ];
}

/** W4: 1,000 turns in one session. */
export async function longSession(): Promise<Row[]> {
  const turns = 1000;
  const window = 20;
  const early: number[] = [];
  const late: number[] = [];
  const totals: number[] = [];
  const floorTotals: number[] = [];
  const model = new InstantModel();
  for (let repetition = -3; repetition < 12; repetition++) {
    const sessions = new InMemorySessionService();
    const runner = createRunner(model, sessions);
    await sessions.createSession({ ...APP, sessionId: 's' });
    const times: number[] = [];
    const start = performance.now();
    for (let index = 0; index < turns; index++) {
      const before = performance.now();
      await turn(runner, 's');
      times.push((performance.now() - before) * 1000);
    }
    const total = performance.now() - start;
    const floorSession = createFloorSession('f');
    const floorStart = performance.now();
    for (let index = 0; index < turns; index++) await drain(floorTurn(floorSession, model, MESSAGE));
    const floorTotal = performance.now() - floorStart;
    if (repetition < 0) continue;
    totals.push(total);
    floorTotals.push(floorTotal);
    early.push(summarize(times.slice(0, window)).medianUs);
    late.push(summarize(times.slice(-window)).medianUs);
  }
  const earlyUs = summarize(early).medianUs;
  const lateUs = summarize(late).medianUs;
  const totalMs = summarize(totals).medianUs;
  return [
    {
      workload: 'W4',
      figure: 'turn 1,000 against turn 10',
      unit: 'µs',
      ours: lateUs,
      floor: earlyUs,
      target: '≤ 1× turn 10',
      ok: lateUs / earlyUs <= 1,
    },
    {
      workload: 'W4',
      figure: '1,000 turns',
      unit: 'ms',
      ours: totalMs,
      floor: summarize(floorTotals).medianUs,
      target: '≤ 48 ms',
      ok: totalMs <= 48,
    },
  ];
}
