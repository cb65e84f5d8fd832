import { collectedHeap } from '../collected-heap.ts';
import { Callers } from '../live/callers.ts';
import { PIECE_MS } from '../live/gemini-order.ts';
import { GeminiPeer } from '../live/gemini-peer.ts';
import { quantile } from '../live/latencies.ts';
import { summarize } from '../measure.ts';
import type { Row } from '../report.ts';

const CALLS = 100;
/** Pieces per call in a round, sent as fast as they are accepted. */
const PIECES = 20;
const ROUNDS = 9;
/** Pieces per call in a round at the pace of speech. */
const SPOKEN_PIECES = 15;
const SPOKEN_ROUNDS = 3;

/** The cost of a number of rounds. */
interface Cost {
  /** Wall time of one frame, in microseconds, and its processor time. */
  readonly wallUs: number;
  readonly cpuUs: number;
  /** Time of each frame from the socket to the caller, in microseconds. */
  readonly us: readonly number[];
}

/** L2: a hundred concurrent calls in one process, compared with equally many of the bare client. */
export async function liveCalls(): Promise<Row[]> {
  const gemini = await GeminiPeer.start();
  try {
    // One-time work at the first call is not counted.
    for (const first of [Callers.bare(gemini), Callers.ours(gemini)]) {
      await first.open(1);
      await first.hear(PIECES);
      await first.end();
    }
    const before = await collectedHeap();
    const bare = Callers.bare(gemini);
    await bare.open(CALLS);
    await bare.hear(PIECES);
    bare.forget();
    const withBare = await collectedHeap();
    const ours = Callers.ours(gemini);
    await ours.open(CALLS);
    await ours.hear(PIECES);
    ours.forget();
    const withBoth = await collectedHeap();
    const [bareFast, oursFast] = await rounds([bare, ours], ROUNDS, PIECES);
    const [bareSpoken, oursSpoken] = await rounds([bare, ours], SPOKEN_ROUNDS, SPOKEN_PIECES, PIECE_MS);
    await Promise.all([bare.end(), ours.end()]);
    const core = ({ cpuUs }: Cost): number => (cpuUs * CALLS) / (PIECE_MS * 10);
    return [
      row(`frames a second, ${CALLS} calls at once`, '/s', 1_000_000 / oursFast.wallUs, 1_000_000 / bareFast.wallUs),
      row('processor time of a frame then', 'µs', oursFast.cpuUs, bareFast.cpuUs),
      row('share of a core at the pace of speech', '%', core(oursSpoken), core(bareSpoken)),
      row('frame to caller then, median', 'µs', quantile(oursSpoken.us, 0.5), quantile(bareSpoken.us, 0.5)),
      row('frame to caller then, p99', 'µs', quantile(oursSpoken.us, 0.99), quantile(bareSpoken.us, 0.99)),
      row('heap of an open call', 'kB', (withBoth - withBare) / CALLS / 1000, (withBare - before) / CALLS / 1000),
    ];
  } finally {
    gemini.close();
  }
}

/** Runs rounds of both in turn. Returns the median cost of each. */
async function rounds(
  [bare, ours]: readonly [Callers, Callers],
  count: number,
  pieces: number,
  everyMs?: number,
): Promise<readonly [Cost, Cost]> {
  const [ofBare, ofOurs]: Cost[][] = [[], []];
  for (let round = 0; round < count; round++) {
    ofBare?.push(await cost(bare, pieces, everyMs));
    ofOurs?.push(await cost(ours, pieces, everyMs));
  }
  return [median(ofBare ?? []), median(ofOurs ?? [])];
}

async function cost(callers: Callers, pieces: number, everyMs: number | undefined): Promise<Cost> {
  callers.forget();
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const frames = await callers.hear(pieces, everyMs);
  const wallUs = ((performance.now() - start) * 1000) / frames;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { wallUs, cpuUs: (user + system) / frames, us: callers.us };
}

function median(costs: readonly Cost[]): Cost {
  return {
    wallUs: summarize(costs.map(({ wallUs }) => wallUs)).medianUs,
    cpuUs: summarize(costs.map(({ cpuUs }) => cpuUs)).medianUs,
    us: costs.flatMap(({ us }) => us),
  };
}

function row(figure: string, unit: string, ours: number, floor: number): Row {
  return { workload: 'L2', figure, unit, ours, floor };
}
