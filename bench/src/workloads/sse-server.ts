import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compare, type Measurement, summarize } from '../measure.ts';
import { limitRow, rateRow, type Row } from '../report.ts';
import { CHUNKED, CHUNKS, TURN } from '../sse/apps.ts';
import { type SseAnswer, SsePeer } from '../sse/sse-peer.ts';

const CONNECTIONS = 16;
const TURNS = 1000;
const CHUNKED_RUNS = 10;
/** The chunks and the whole answer. */
const EVENTS = CHUNKS + 1;

/** Flags of a node process with little memory, and their name in the report. */
const SMALL_HEAP = ['--max-old-space-size=64', '--max-semi-space-size=4'];
const SMALL_HEAP_MB = 64;

/** One of the two servers. */
interface Contestant {
  readonly name: string;
  readonly peer: SsePeer;
  readonly firstMs: number[];
}

/** W9: runs as server-sent events, compared with a bare handler that writes the same bytes. The servers run in separate processes. */
export async function sseServer(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  const start = async (name: string, program: string, nodeOptions?: readonly string[]): Promise<Contestant> => {
    const contestant = { name, peer: await SsePeer.start(program, folder, nodeOptions), firstMs: [] };
    started.push(contestant.peer);
    return contestant;
  };
  const started: SsePeer[] = [];
  try {
    const ours = await start('ours', 'run-server-process');
    const bare = await start('bare', 'bare-server-process');
    const rows = await measure(ours, bare);
    const small = await start('ours, small', 'run-server-process', SMALL_HEAP);
    const smallBare = await start('bare, small', 'bare-server-process', SMALL_HEAP);
    await teach(small.peer, smallBare.peer);
    for (const contestant of [small, smallBare]) await work(contestant, 10);
    return [
      ...rows,
      {
        workload: 'W9',
        figure: `peak memory, heap of ${SMALL_HEAP_MB} MB`,
        unit: 'MB',
        ours: await peakMegabytes(small.peer),
        floor: await peakMegabytes(smallBare.peer),
      },
    ];
  } finally {
    for (const peer of started) peer.close();
    rmSync(folder, { recursive: true });
  }
}

async function measure(ours: Contestant, bare: Contestant): Promise<Row[]> {
  await teach(ours.peer, bare.peer);
  const both = [ours, bare];
  const chunked = await compare(
    both.map((contestant) => ({ name: contestant.name, round: () => readChunked(contestant) })),
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
  return [
    { ...limitRow('W9', 'first event on the wire', 'ms', median(ours.firstMs), 3), floor: median(bare.firstMs) },
    rateRow('W9', 'events of a 2,000-chunk run', 'a second', rate(chunked, ours), rate(chunked, bare), 1),
    { workload: 'W9', figure: 'processor time of such an event', unit: 'µs', ...ofEvent },
    rateRow('W9', `turns, ${CONNECTIONS} connections`, 'a second', rate(turns, ours), rate(turns, bare), 0.5),
    { workload: 'W9', figure: 'processor time of such a turn', unit: 'µs', ...ofTurn },
    {
      ...limitRow('W9', 'peak memory', 'MB', await peakMegabytes(ours.peer), 150),
      floor: await peakMegabytes(bare.peer),
    },
  ];
}

/** Some of everything. */
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

/** Gives the bare handler what ours writes. */
async function teach(ours: SsePeer, bare: SsePeer): Promise<void> {
  for (const appName of [TURN, CHUNKED]) {
    await bare.order({ does: 'write', appName, events: await eventsOf(ours, appName) });
    await checkSameBytes(ours, bare, appName);
  }
}

/** The JSON of each event of a run. */
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
  // The numbers in ids, times and the like have not always the same count of digits.
  const differs = Math.abs(a.bytes - b.bytes) > a.bytes / 100;
  if (a.events !== b.events || differs) throw new Error(`the two servers do not write the same for ${appName}`);
}

/** Runs of 2,000 chunks, one after the other on one connection. Returns the number of events. */
async function readChunked({ peer, firstMs }: Contestant): Promise<number> {
  for (let run = 0; run < CHUNKED_RUNS; run++) {
    const answer = await peer.run(CHUNKED);
    expectEvents(answer, EVENTS);
    firstMs.push(answer.firstMs);
  }
  return CHUNKED_RUNS * EVENTS;
}

/** Turns of one event on many connections, each with the next one as soon as it has its answer. Gives their number. */
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

/** The processor time of a server per operation, in microseconds. */
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
