import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type BaseSessionService, createEvent, type Event, systemPlatform } from '@eventloom/core';
import {
  type AnyNodes,
  append as appendTo,
  type Channels,
  channel,
  END,
  type GraphAgent,
  START,
  StateGraph,
} from '@eventloom/graph';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import * as z from 'zod';
import { compare } from '../measure.ts';
import type { Row } from '../report.ts';

/** A graph, how many node runs it makes, and what these come to as bare calls. */
interface Workload {
  readonly name: string;
  readonly graph: GraphAgent;
  readonly nodes: number;
  readonly calls: () => Promise<unknown>;
}

const work = async (input: number): Promise<number> => input + 1;

function chain(): Workload {
  const nodes = 100;
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'chain' });
  for (let index = 0; index < nodes; index++) {
    graph.addNode(`n${index}`, work);
    graph.addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
  }
  graph.addEdge(`n${nodes - 1}`, END);
  const calls = async (): Promise<unknown> => {
    let value = 0;
    for (let index = 0; index < nodes; index++) value = await work(value);
    return value;
  };
  return { name: 'chain of 100 nodes', graph: graph.compile({ maxSteps: nodes }), nodes, calls };
}

function fanOut(): Workload {
  const width = 100;
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'fan' }).addJoin('gather');
  for (let index = 0; index < width; index++) {
    graph.addNode(`n${index}`, work);
    graph.addEdge(START, `n${index}`).addEdge(`n${index}`, 'gather');
  }
  graph.addEdge('gather', END);
  const calls = (): Promise<unknown> => Promise.all(Array.from({ length: width }, (_, index) => work(index)));
  return { name: 'fan-out of 100', graph: graph.compile(), nodes: width + 1, calls };
}

function loop(): Workload {
  const rounds = 1000;
  const graph = new StateGraph({ name: 'loop', channels: { count: channel(z.number(), { default: 0 }) } })
    .addNode(
      'round',
      (_: unknown, context) => {
        context.update({ count: context.state.count + 1 });
        return context.state.count + 1;
      },
      { writes: ['count'] },
    )
    .addEdge(START, 'round')
    .addConditionalEdges('round', (output) => (output < rounds ? 'again' : 'out'), { again: 'round', out: END })
    .compile({ maxSteps: rounds });
  const calls = async (): Promise<unknown> => {
    let value = 0;
    while (value < rounds) value = await work(value);
    return value;
  };
  return { name: '1,000 rounds of a loop', graph, nodes: rounds, calls };
}

/** A list that grows by a line in each round. */
function append(): Workload {
  const rounds = 1000;
  const line = 'a line of a log, of forty characters....';
  const graph = new StateGraph({
    name: 'append',
    channels: { log: channel(z.array(z.string()), { default: [], reducer: appendTo }) },
  })
    .addNode(
      'round',
      (_: unknown, context) => {
        context.update({ log: [line] });
        return context.state.log.length + 1;
      },
      { writes: ['log'] },
    )
    .addEdge(START, 'round')
    .addConditionalEdges('round', (output) => (output < rounds ? 'again' : 'out'), { again: 'round', out: END })
    .compile({ maxSteps: rounds });
  const calls = async (): Promise<unknown> => {
    const log: string[] = [];
    while (log.length < rounds) log.push(await Promise.resolve(line));
    return log;
  };
  return { name: '1,000 rounds that append to a list', graph, nodes: rounds, calls };
}

type BackEnd = 'in memory' | 'SQLite';

/** W11: graphs, for each node run, against bare calls of the same functions and against commits of as many events of the same size. */
export async function graphs(backEnd: BackEnd): Promise<Row[]> {
  const rows: Row[] = [];
  for (const make of [chain, fanOut, loop, append]) rows.push(...(await measure(make(), backEnd)));
  return rows;
}

async function measure({ name, graph, nodes, calls }: Workload, backEnd: BackEnd): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  const service: BaseSessionService & { close?: () => void } =
    backEnd === 'SQLite'
      ? new SqliteSessionService({ path: join(folder, 'sessions.db') })
      : new InMemorySessionService();
  const runner = new Runner({ appName: 'bench', agent: graph, sessionService: service });
  let sessions = 0;
  /** Rounds are of about as many nodes. */
  const repeats = Math.ceil(1000 / nodes);
  const play = async (): Promise<string> => {
    const sessionId = `s${sessions++}`;
    await service.createSession({ appName: 'bench', userId: 'u', sessionId });
    for await (const _ of runner.runAsync({ userId: 'u', sessionId, newMessage: { parts: [{ text: '0' }] } }));
    return sessionId;
  };
  const key = { appName: 'bench', userId: 'u', sessionId: await play() };
  const made = (await service.getSession(key))?.events ?? [];
  const repeated = async (once: () => Promise<unknown>, times = repeats): Promise<number> => {
    for (let time = 0; time < times; time++) await once();
    return nodes * times;
  };
  const measured = await compare(
    [
      { name: 'ours', round: () => repeated(play) },
      { name: 'commits', round: () => repeated(() => commitAll(service, made, `c${sessions++}`)) },
      { name: 'calls', round: () => repeated(calls, repeats * 20) },
    ],
    15,
    10,
  );
  const of = (contestant: string): number => measured.get(contestant)?.medianUs ?? Number.NaN;
  const kept = await bytesKept(graph, nodes);
  service.close?.();
  rmSync(folder, { recursive: true });
  const figure = `${name}, ${backEnd}, per node`;
  return [
    { workload: 'W11', figure: `${figure}, against a commit`, unit: 'µs', ours: of('ours'), floor: of('commits') },
    { workload: 'W11', figure: `${figure}, against a bare call`, unit: 'µs', ours: of('ours'), floor: of('calls') },
    ...(backEnd === 'in memory'
      ? [{ workload: 'W11', figure: `${name}, memory kept per node, against its event`, unit: 'B', ...kept }]
      : []),
  ];
}

/** The same events, committed under a lease and nothing else. */
async function commitAll(service: BaseSessionService, events: readonly Event[], sessionId: string): Promise<void> {
  const key = { appName: 'bench', userId: 'u', sessionId };
  const session = await service.createSession(key);
  const lease = await service.acquireLease(key);
  for (const event of events) {
    await service.appendEvent({ session, lease, event: createEvent({ ...event, id: systemPlatform.newEventId() }) });
  }
  await service.releaseLease(lease);
}

/** Objects of their own, with the texts that the events of one run share: names, branches and ids are kept once, as a run keeps them. */
function copiesOf(events: readonly Event[]): Event[] {
  const invocationId = systemPlatform.newUuid();
  const executionId = systemPlatform.newUuid();
  // A copy of an event is one.
  return events.map((event) => ({ ...(copyOf(event) as Event), invocationId, executionId }));
}

/** A copy with the layout of the original: one that is built key by key takes more room. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = { ...value };
  for (const [key, inner] of Object.entries(copy)) copy[key] = copyOf(inner);
  return copy;
}

/** What a run leaves in memory, for each node, while its session is kept; and what the same events do that are committed alone. */
async function bytesKept(graph: GraphAgent, nodes: number): Promise<{ ours: number; floor: number }> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const runs = 10;
  const service = new InMemorySessionService();
  const runner = new Runner({
    appName: 'bench',
    agent: graph,
    sessionService: service,
    sessionCache: { maxSessions: 0 },
  });
  const play = async (sessionId: string): Promise<void> => {
    await service.createSession({ appName: 'bench', userId: 'u', sessionId });
    for await (const _ of runner.runAsync({ userId: 'u', sessionId, newMessage: { parts: [{ text: '0' }] } }));
  };
  await play('warm');
  const events = (await service.getSession({ appName: 'bench', userId: 'u', sessionId: 'warm' }))?.events ?? [];
  const kept = async (once: (run: number) => Promise<void>): Promise<number> => {
    // The first runs compile code, and let go of what was measured before.
    for (let run = -runs; run < 0; run++) await once(run);
    const before = heap();
    for (let run = 0; run < runs; run++) await once(run);
    return (heap() - before) / runs / nodes;
  };
  return {
    ours: await kept((run) => play(`s${run}`)),
    floor: await kept((run) => commitAll(service, copiesOf(events), `c${run}`)),
  };
}
