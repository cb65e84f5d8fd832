import { compare, type Measurement, summarize } from '../measure.ts';
import { limitRow, rateRow, type Row } from '../report.ts';
import { CHUNKED, CHUNKS, TURN } from '../sse/apps.ts';
import { type SseAnswer, SsePeer } from '../sse/sse-peer.ts';

const CONNECTIONS = 16;
const TURNS = 1000;
const CHUNKED_RUNS = 10;
/** The chunks and the whole answer. */
const EVENTS = CHUNKS + 1;

/** One of the two servers. */
interface Contestant {
  readonly name: string;
  readonly peer: SsePeer;
  readonly firstMs: number[];
}

/** W9: runs as server-sent events, beside a bare handler that writes the same bytes. Both servers are processes of their own. */
export async function sseServer(): Promise<Row[]> {
  const contestants = [
    await start('ours', 'run-server-process.ts'),
    await start('bare', 'bare-server-process.ts'),
  ] as const;
  const [ours, bare] = contestants;
  try {
    for (const appName of [TURN, CHUNKED]) {
      await bare.peer.order({ does: 'write', appName, events: await eventsOf(ours.peer, appName) });
      await checkSameBytes(ours.peer, bare.peer, appName);
    }
    const chunked = await compare(
      contestants.map((contestant) => ({ name: contestant.name, round: () => readChunked(contestant) })),
      15,
    );
    const turns = await compare(
      contestants.map(({ name, peer }) => ({
        name,
        prepare: async () => {
          if (peer === ours.peer) await peer.deleteSessions();
        },
        round: () => takeTurns(peer),
      })),
      15,
    );
    const cpuUs = {
      event: {
        ours: await cpuOf(ours.peer, () => readChunked(ours)),
        floor: await cpuOf(bare.peer, () => readChunked(bare)),
      },
      turn: {
        ours: await cpuOf(ours.peer, () => takeTurns(ours.peer)),
        floor: await cpuOf(bare.peer, () => takeTurns(bare.peer)),
      },
    };
    const [oursPeak, barePeak] = [await ours.peer.order({ does: 'report' }), await bare.peer.order({ does: 'report' })];
    const oursFirst = median(ours.firstMs);
    return [
      { ...limitRow('W9', 'first event on the wire', 'ms', oursFirst, 3), floor: median(bare.firstMs) },
      rateRow('W9', 'events of a 2,000-chunk run', 'a second', rate(chunked, 'ours'), rate(chunked, 'bare'), 1),
      { workload: 'W9', figure: 'processor time of such an event', unit: 'µs', ...cpuUs.event },
      rateRow('W9', `turns, ${CONNECTIONS} connections`, 'a second', rate(turns, 'ours'), rate(turns, 'bare'), 0.5),
      { workload: 'W9', figure: 'processor time of such a turn', unit: 'µs', ...cpuUs.turn },
      { ...limitRow('W9', 'peak memory', 'MB', oursPeak.peakBytes / 1e6, 150), floor: barePeak.peakBytes / 1e6 },
    ];
  } finally {
    for (const { peer } of contestants) peer.close();
  }
}

async function start(name: string, file: string): Promise<Contestant> {
  return { name, peer: await SsePeer.start(file), firstMs: [] };
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

/** Runs of 2,000 chunks, one after the other on one connection. Gives the number of events. */
async function readChunked({ peer, firstMs }: Contestant): Promise<number> {
  for (let run = 0; run < CHUNKED_RUNS; run++) {
    const answer = await peer.run(CHUNKED);
    expectEvents(answer, EVENTS);
    firstMs.push(answer.firstMs);
  }
  return CHUNKED_RUNS * EVENTS;
}

/** Turns of one event on many connections, each with the next one as soon as it has its answer. Gives their number. */
async function takeTurns(peer: SsePeer): Promise<number> {
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

/** The processor time that a server takes for what is done, in microseconds for each. */
async function cpuOf(peer: SsePeer, round: () => Promise<number>): Promise<number> {
  const us: number[] = [];
  for (let repetition = 0; repetition < 5; repetition++) {
    const before = await peer.order({ does: 'report' });
    const count = await round();
    const after = await peer.order({ does: 'report' });
    us.push((after.cpuUs - before.cpuUs) / count);
  }
  return median(us);
}

function median(values: readonly number[]): number {
  return summarize(values).medianUs;
}

function rate(measured: ReadonlyMap<string, Measurement>, name: string): number {
  return 1e6 / (measured.get(name)?.medianUs ?? Number.NaN);
}
