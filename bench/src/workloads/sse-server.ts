import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, type Measurement, summarize } from '../measure.ts';
import { limitRow, rateRow, type Row } from '../report.ts';
import { CHUNKED, CHUNKS, TURN } from '../sse/apps.ts';
import { type SseAnswer, SsePeer } from '../sse/sse-peer.ts';

const CONNECTIONS = 16;
const TURNS = 1000;
const CHUNKED_RUNS = 10;
/** Number of events: the chunks and the whole answer. */
const EVENTS = CHUNKS + 1;
/** Number of rounds on the servers with other flags: 250 runs of 2,000 chunks and 25,000 turns in total. */
const ROUNDS = 25;
const MAX_PEAK_MB = 170;

/** Flags of a Node process with little memory, and their name in the report. */
const SMALL_HEAP = ['--max-old-space-size=64', '--max-semi-space-size=4'];
const SMALL_HEAP_MB = 64;

/** Returns the Node flags of the script `start`. */
function startFlags(): string[] {
  const manifest = readFileSync(join(import.meta.dirname, '../../../apps/node-server/package.json'), 'utf8');
  const { scripts } = JSON.parse(manifest) as { readonly scripts: Readonly<Record<string, string>> };
  return scripts['start']?.match(/(?<= )--\S+/g) ?? [];
}

/** A measured server. */
interface Contestant {
  readonly name: string;
  readonly peer: SsePeer;
  readonly firstMs: number[];
}

/**
 * W9: runs as server-sent events, compared with a bare handler that writes the same bytes. The servers run in separate
 * processes. Those with other flags answer the same number of requests before their peak is read.
 */
export async function sseServer(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  const start = async (name: string, program: string, nodeOptions?: readonly string[]): Promise<Contestant> => {
    const contestant = { name, peer: await SsePeer.start(program, folder, nodeOptions), firstMs: [] };
    started.push(contestant.peer);
    return contestant;
  };
  const started: SsePeer[] = [];
  const startPair = async (
    name: string,
    nodeOptions?: readonly string[],
  ): Promise<readonly [Contestant, Contestant]> => {
    const ours = await start(`ours${name}`, 'run-server-process', nodeOptions);
    const bare = await start(`bare${name}`, 'bare-server-process', nodeOptions);
    await teach(ours.peer, bare.peer);
    return [ours, bare];
  };
  try {
    const [ours, bare] = await startPair('');
    const batched = await start('batched', 'bare-server-process');
    await teach(ours.peer, batched.peer, true);
    const rows = await measure(ours, bare, batched);
    const flags = startFlags();
    for (const [name, nodeOptions] of [
      ['flags of `start`', flags],
      [`heap of ${SMALL_HEAP_MB} MB`, SMALL_HEAP],
    ] as const) {
      const pair = await startPair(`, ${name}`, nodeOptions);
      for (const contestant of pair) await work(contestant, ROUNDS);
      const [megabytes = 0, floor = 0] = await Promise.all(pair.map(({ peer }) => peakMegabytes(peer)));
      const target = nodeOptions === flags ? MAX_PEAK_MB : Infinity;
      const { ok, target: text, ...row } = limitRow('W9', `peak memory, ${name}`, 'MB', megabytes, target);
      rows.push({ ...row, floor, ...(nodeOptions === flags ? { ok, target: text } : {}) });
    }
    return rows;
  } finally {
    for (const peer of started) peer.close();
    rmSync(folder, { recursive: true });
  }
}

async function measure(ours: Contestant, bare: Contestant, batched: Contestant): Promise<Row[]> {
  const both = [ours, bare];
  const chunked = await compare(
    [...both, batched].map((contestant) => ({ name: contestant.name, round: () => readChunked(contestant) })),
  );
  const turns = await compare(
    both.map((contestant) => ({
      name: contestant.name,
      prepare: () => contestant.peer.deleteSessions(),
      round: () => takeTurns(contestant),
    })),
  );
  const ofEvent = { ours: await cpuUsOf(ours, readChunked), floor: await cpuUsOf(bare, readChunked) };
  const ofTurn = { ours: await cpuUsOf(ours, takeTurns), floor: await cpuUsOf(bare, takeTurns) };
  const rate = (measured: ReadonlyMap<string, Measurement>, { name }: Contestant): number =>
    1e6 / (measured.get(name)?.medianUs ?? Number.NaN);
  const events = 'events of a 2,000-chunk run';
  return [
    { ...limitRow('W9', 'first event on the wire', 'ms', median(ours.firstMs), 2), floor: median(bare.firstMs) },
    { workload: 'W9', figure: events, unit: 'a second', ours: rate(chunked, ours), floor: rate(chunked, bare) },
    rateRow('W9', `${events}, floor in one write`, 'a second', rate(chunked, ours), rate(chunked, batched), 0.6),
    { workload: 'W9', figure: 'processor time of such an event', unit: 'µs', ...ofEvent },
    rateRow('W9', `turns, ${CONNECTIONS} connections`, 'a second', rate(turns, ours), rate(turns, bare), 0.6),
    { workload: 'W9', figure: 'processor time of such a turn', unit: 'µs', ...ofTurn },
    {
      workload: 'W9',
      figure: 'peak memory, default flags',
      unit: 'MB',
      ours: await peakMegabytes(ours.peer),
      floor: await peakMegabytes(bare.peer),
    },
  ];
}

/** Sends requests of every kind. */
async function work(contestant: Contestant, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await readChunked(contestant);
    await takeTurns(contestant);
    await contestant.peer.deleteSessions();
  }
}

async function peakMegabytes(peer: SsePeer): Promise<number> {
  const { peakBytes } = await peer.order({ does: 'report' });
  return peakBytes / 1e6;
}

/** Gives the bare handler the events that our server writes. */
async function teach(ours: SsePeer, bare: SsePeer, isBatched = false): Promise<void> {
  for (const appName of [TURN, CHUNKED]) {
    await bare.order({ does: 'write', appName, events: await eventsOf(ours, appName), isBatched });
    await checkSameBytes(ours, bare, appName);
  }
}

/** Returns the JSON of each event of a run. */
async function eventsOf(peer: SsePeer, appName: string): Promise<string[]> {
  const pieces: Buffer[] = [];
  await peer.run(appName, (bytes) => pieces.push(bytes));
  return [
    ...Buffer.concat(pieces)
      .toString()
      .matchAll(/^data: (.*)$/gm),
  ].map(([, json = '']) => json);
}

async function checkSameBytes(ours: SsePeer, bare: SsePeer, appName: string): Promise<void> {
  const [a, b] = [await ours.run(appName), await bare.run(appName)];
  // Numbers in ids and times do not always have the same number of digits: three durations of an event have up to 17 each.
  const differs = Math.abs(a.bytes - b.bytes) > 64 + a.bytes / 100;
  if (a.events !== b.events || differs) throw new Error(`the two servers do not write the same for ${appName}`);
}

/** Reads runs of 2,000 chunks one by one on one connection. Returns the number of events. */
async function readChunked({ peer, firstMs }: Contestant): Promise<number> {
  for (let run = 0; run < CHUNKED_RUNS; run++) {
    const answer = await peer.run(CHUNKED);
    expectEvents(answer, EVENTS);
    firstMs.push(answer.firstMs);
  }
  return CHUNKED_RUNS * EVENTS;
}

/**
 * Runs turns of one event on many connections, each with the next turn as soon as the previous one is answered. Returns
 * their number.
 */
async function takeTurns({ peer }: Contestant): Promise<number> {
  let left = TURNS;
  const connection = async (): Promise<void> => {
    while (left-- > 0) expectEvents(await peer.run(TURN), 1);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return TURNS;
}

function expectEvents({ events }: SseAnswer, expected: number): void {
  if (events !== expected) throw new Error(`a run had ${events} events instead of ${expected}`);
}

/** Returns the processor time of a server per operation, in microseconds. */
async function cpuUsOf(contestant: Contestant, round: (contestant: Contestant) => Promise<number>): Promise<number> {
  const us: number[] = [];
  for (let repetition = 0; repetition < 5; repetition++) {
    const before = await contestant.peer.order({ does: 'report' });
    const count = await round(contestant);
    const after = await contestant.peer.order({ does: 'report' });
    us.push((after.cpuUs - before.cpuUs) / count);
  }
  return median(us);
}

function median(values: readonly number[]): number {
  return summarize(values).medianUs;
}
