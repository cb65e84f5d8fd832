import { type RawData, WebSocket } from 'ws';
import { sharedMs } from './clock.ts';
import { LEAST_PIECE_BYTES, type SocketOrder, type SocketReport } from './socket-order.ts';

// The WebSocket clients of calls, in their own process. They do not parse the messages that they receive.

interface Line {
  atMs: number[];
  bytes: number;
  pieces: number;
}

const lines = new Map<string, Line>();

function take(line: Line, data: RawData): void {
  const { length } = data as Buffer;
  line.bytes += length;
  if (length <= LEAST_PIECE_BYTES) return;
  line.atMs.push(sharedMs());
  if (line.atMs.length === line.pieces) report(line);
}

function report({ atMs, bytes }: SocketReport): void {
  process.send?.({ atMs, bytes } satisfies SocketReport);
}

process.on('message', (order: SocketOrder) => {
  const line = lines.get(order.line) ?? { atMs: [], bytes: 0, pieces: 0 };
  lines.set(order.line, line);
  if (order.does === 'listen') {
    Object.assign(line, { atMs: [], bytes: 0, pieces: order.pieces });
    report(line);
    return;
  }
  let left = order.urls.length;
  for (const url of order.urls) {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.on('open', () => void (--left === 0 && report(line)));
    socket.on('message', (data) => take(line, data));
  }
});
process.on('disconnect', () => process.exit());
