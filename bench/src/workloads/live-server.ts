import { join } from 'node:path';
import { ChildPeer } from '../child-peer.ts';
import { startBareRelay } from '../live/bare-relay.ts';
import { PIECE_MS } from '../live/gemini-order.ts';
import { GeminiPeer } from '../live/gemini-peer.ts';
import { quantile } from '../live/latencies.ts';
import { startRunServer } from '../live/run-server.ts';
import type { SocketOrder, SocketReport } from '../live/socket-order.ts';
import { summarize } from '../measure.ts';
import { ratioRow, type Row } from '../report.ts';

const CALLS = 100;
const ROUNDS = 5;
const PIECES = 200;
const EVERY_MS = 5;
/** Pieces of each of the hundred calls in a round, at the pace of speech. */
const SPOKEN_PIECES = 15;
const SPOKEN_ROUNDS = 3;

/** Calls of one kind, with the name of their model. */
interface Line {
  readonly name: string;
  readonly address: (call: number) => string;
  /** Times at which frames arrived from Gemini. */
  arrivals: number[];
  readonly us: number[];
  readonly cpuUs: number[];
  bytesOfPiece: number;
}

/** L6: calls over the server's WebSockets, compared with a handwritten relay. The clients and the fake Gemini run in separate processes. */
export async function liveServer(): Promise<Row[]> {
  const gemini = await GeminiPeer.start();
  const clients = new ChildPeer<SocketOrder, SocketReport>(
    join(import.meta.dirname, '..', 'live', 'socket-process.ts'),
  );
  const lines = new Map<string, Line>();
  let connected = 0;
  let wanted = Promise.withResolvers<void>();
  let want = 0;
  const onConnected = (): void => void (++connected === want && wanted.resolve());
  const onFrame = (model: string, atMs: number): void => void lines.get(model)?.arrivals.push(atMs);
  const server = await startRunServer(gemini.url, ['ours-base64', 'ours-binary'], onFrame, onConnected);
  const relay = await startBareRelay(gemini.url, onFrame, onConnected);
  const lineOf = (name: string, address: Line['address']): Line => {
    const line = { name, address, arrivals: [], us: [], cpuUs: [], bytesOfPiece: 0 };
    lines.set(name, line);
    return line;
  };
  const ours = (audio: string): Line =>
    lineOf(
      `ours-${audio}`,
      (call) => `${server.url}/run_live?app_name=ours-${audio}&user_id=u&session_id=s${call}&audio=${audio}`,
    );
  const bare = (audio: string): Line => lineOf(`bare-${audio}`, () => `${relay.url}/bare-${audio}?audio=${audio}`);
  const all = [ours('base64'), bare('base64'), ours('binary'), bare('binary')] as const;

  const dial = async ({ name, address }: Line, from: number, to: number): Promise<void> => {
    wanted = Promise.withResolvers();
    want = connected + to - from;
    clients.send({ does: 'dial', line: name, urls: Array.from({ length: to - from }, (_, at) => address(from + at)) });
    await Promise.all([clients.report(), wanted.promise]);
  };
  const hear = async (line: Line, calls: number, pieces: number, everyMs?: number): Promise<SocketReport> => {
    line.arrivals = [];
    clients.send({ does: 'listen', line: line.name, pieces: pieces * calls });
    await clients.report();
    const pace = everyMs === undefined ? {} : { everyMs };
    await gemini.order({ does: 'speak', model: line.name, pieces, ...pace });
    return clients.report();
  };

  try {
    for (const line of all) {
      await dial(line, 0, 1);
      await hear(line, 1, PIECES);
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const line of all) {
        const { atMs, bytes } = await hear(line, 1, PIECES, EVERY_MS);
        line.us.push(...atMs.map((at, index) => (at - (line.arrivals[index] ?? Number.NaN)) * 1000));
        line.bytesOfPiece = bytes / PIECES;
      }
    }
    for (const line of all) {
      await dial(line, 1, CALLS);
      await hear(line, CALLS, 5);
    }
    for (let round = 0; round < SPOKEN_ROUNDS; round++) {
      for (const line of all) {
        const before = process.cpuUsage();
        await hear(line, CALLS, SPOKEN_PIECES, PIECE_MS);
        const { user, system } = process.cpuUsage(before);
        line.cpuUs.push((user + system) / (SPOKEN_PIECES * CALLS));
      }
    }
  } finally {
    clients.close();
    await Promise.all([server.close(), relay.close()]);
    gemini.close();
  }
  const [ours64, bare64, oursBinary, bareBinary] = all;
  const core = ({ cpuUs }: Line): number => (summarize(cpuUs).medianUs * CALLS) / (PIECE_MS * 10);
  const rows = (audio: string, line: Line, floor: Line): Row[] => [
    row(`frame to the client, ${audio}, median`, 'µs', quantile(line.us, 0.5), quantile(floor.us, 0.5)),
    row(`frame to the client, ${audio}, p99`, 'µs', quantile(line.us, 0.99), quantile(floor.us, 0.99)),
    row(`share of a core, ${CALLS} calls, ${audio}`, '%', core(line), core(floor)),
  ];
  return [
    ...rows('base64', ours64, bare64),
    ...rows('audio=binary', oursBinary, bareBinary),
    {
      ...ratioRow(
        'L6',
        'bytes of a piece on the wire, audio=binary',
        'bytes',
        oursBinary.bytesOfPiece,
        ours64.bytesOfPiece,
        0.8,
      ),
      target: '≤ 0.8× base64',
    },
  ];
}

function row(figure: string, unit: string, ours: number, floor: number): Row {
  return { workload: 'L6', figure, unit, ours, floor };
}
