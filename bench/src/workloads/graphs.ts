import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BaseSessionService } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { compareAnswers } from '../graphs/answers.ts';
import type { BytesKept } from '../graphs/bytes-kept.ts';
import { commitAll } from '../graphs/commit-all.ts';
import { GRAPH_WORKLOADS, type GraphWorkload } from '../graphs/graph-workloads.ts';
import { NUMBER_MESSAGE } from '../graphs/number-message.ts';
import { compare } from '../measure.ts';
import type { Row } from '../report.ts';
import { APP, drain } from '../setup.ts';

type BackEnd = 'in memory' | 'SQLite';

/**
 * W11: graphs, per node run, compared with bare calls of the same functions and with commits of equally many events of
 * the same size; and answers to questions.
 */
export async function graphs(backEnd: BackEnd): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [index, make] of GRAPH_WORKLOADS.entries()) {
    const workload = make();
    rows.push(...(await withService(backEnd, (service) => measureRuns(workload, service, backEnd))));
    if (backEnd === 'in memory') rows.push(await measureMemory(workload.name, index));
  }
  rows.push(await withService(backEnd, (service) => measureAnswers(service, backEnd)));
  return rows;
}

async function withService<T>(backEnd: BackEnd, use: (service: BaseSessionService) => Promise<T>): Promise<T> {
  if (backEnd === 'in memory') return use(new InMemorySessionService());
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  const service = new SqliteSessionService({ path: join(folder, 'sessions.db') });
  try {
    return await use(service);
  } finally {
    service.close();
    rmSync(folder, { recursive: true });
  }
}

async function measureRuns(
  { name, graph, nodes, calls }: GraphWorkload,
  service: BaseSessionService,
  backEnd: BackEnd,
): Promise<Row[]> {
  const runner = new Runner({ appName: APP.appName, agent: graph, sessionService: service });
  let sessions = 0;
  /** All rounds have about the same number of nodes. */
  const repeats = Math.ceil(1000 / nodes);
  const play = async (): Promise<string> => {
    const sessionId = `s${sessions++}`;
    await service.createSession({ ...APP, sessionId });
    await drain(runner.runAsync({ ...APP, sessionId, newMessage: NUMBER_MESSAGE }));
    return sessionId;
  };
  const made = (await service.getSession({ ...APP, sessionId: await play() }))?.events ?? [];
  const commit = async (): Promise<void> =>
    commitAll(service, await service.createSession({ ...APP, sessionId: `c${sessions++}` }), made);
  const repeated = async (once: () => Promise<unknown>, times = repeats): Promise<number> => {
    for (let time = 0; time < times; time++) await once();
    return nodes * times;
  };
  const measured = await compare(
    [
      { name: 'ours', round: () => repeated(play) },
      { name: 'commits', round: () => repeated(commit) },
      { name: 'calls', round: () => repeated(calls, repeats * 20) },
    ],
    15,
    10,
  );
  const of = (contestant: string): number => measured.get(contestant)?.medianUs ?? Number.NaN;
  const figure = `${name}, ${backEnd}, per node`;
  return [
    { workload: 'W11', figure: `${figure}, against a commit`, unit: 'µs', ours: of('ours'), floor: of('commits') },
    { workload: 'W11', figure: `${figure}, against a bare call`, unit: 'µs', ours: of('ours'), floor: of('calls') },
  ];
}

async function measureMemory(name: string, index: number): Promise<Row> {
  const file = join(import.meta.dirname, '..', 'graphs', 'bytes-kept-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-flush-bytecode', file, `${index}`]);
  const kept = JSON.parse(stdout) as BytesKept;
  return { workload: 'W11', figure: `${name}, memory kept per node, against a list of its events`, unit: 'B', ...kept };
}

async function measureAnswers(service: BaseSessionService, backEnd: BackEnd): Promise<Row> {
  const measured = await compareAnswers(service);
  const of = (contestant: string): number => measured.get(contestant)?.medianUs ?? Number.NaN;
  const figure = `question answered to the end, ${backEnd}, against its commits`;
  return { workload: 'W11', figure, unit: 'µs', ours: of('ours'), floor: of('commits') };
}
