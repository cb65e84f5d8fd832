import { Callers } from '../live/callers.ts';
import { GeminiPeer } from '../live/gemini-peer.ts';
import { quantile } from '../live/latencies.ts';
import type { Row } from '../report.ts';

const ROUNDS = 10;
const PIECES = 200;
const WARM_UP_PIECES = 500;
const EVERY_MS = 5;

/** L1: the time between a frame on the socket to Gemini and its event at the caller, in the only call of the process. */
export async function liveLatency(): Promise<Row[]> {
  const gemini = await GeminiPeer.start();
  const ours = Callers.ours(gemini);
  const bare = Callers.bare(gemini);
  try {
    for (const callers of [ours, bare]) {
      await callers.open(1);
      await callers.hear(WARM_UP_PIECES);
      callers.forget();
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const callers of [ours, bare]) await callers.hear(PIECES, EVERY_MS);
    }
    await Promise.all([ours.end(), bare.end()]);
  } finally {
    gemini.close();
  }
  return [row('median', 0.5), row('p99', 0.99)];

  function row(figure: string, share: number): Row {
    return {
      workload: 'L1',
      figure: `frame to caller, ${figure}`,
      unit: 'µs',
      ours: quantile(ours.us, share),
      floor: quantile(bare.us, share),
    };
  }
}
