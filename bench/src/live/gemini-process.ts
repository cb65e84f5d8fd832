import { setImmediate as untilNextTurn } from 'node:timers/promises';
import { type FakeLiveConnection, FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { type GeminiOrder, type GeminiReport, PIECE_BYTES } from './gemini-order.ts';

// The fake Gemini in its own process, so that its cost is not measured. It executes the commands of its parent in
// order.

const MAX_CONNECTIONS = 10_000;
const PIECE = JSON.stringify({
  serverContent: {
    modelTurn: {
      parts: [
        { inlineData: { mimeType: 'audio/pcm;rate=24000', data: Buffer.alloc(PIECE_BYTES, 7).toString('base64') } },
      ],
    },
  },
});

const server = await FakeGeminiServer.start();
server.live.enqueue(...Array.from({ length: MAX_CONNECTIONS }, () => []));
const closed = new WeakSet<FakeLiveConnection>();
let seen = 0;

/** The open connections of a model, oldest first. */
function connectionsOf(model: string): FakeLiveConnection[] {
  for (const connection of server.live.connections.slice(seen))
    void connection.closed.then(() => closed.add(connection));
  seen = server.live.connections.length;
  return server.live.connections.filter(
    (connection) => !closed.has(connection) && connection.setup?.['model'] === `models/${model}`,
  );
}

async function perform(order: GeminiOrder): Promise<void> {
  const connections = connectionsOf(order.model);
  if (order.does === 'speak' && order.everyMs !== undefined)
    return speakInTime(connections, order.pieces, order.everyMs);
  if (order.does === 'speak') {
    for (let piece = 0; piece < order.pieces; piece++) {
      for (const connection of connections) connection.send(PIECE);
      await untilNextTurn();
    }
    return;
  }
  for (const connection of connections) {
    if (order.does === 'say') connection.send(order.message);
    else connection.cut();
  }
}

/** Sends a piece on every connection every `everyMs`, evenly distributed over that time. */
async function speakInTime(connections: readonly FakeLiveConnection[], pieces: number, everyMs: number): Promise<void> {
  const start = performance.now();
  const total = pieces * connections.length;
  for (let said = 0; said < total;) {
    const due = Math.min(total, Math.floor(((performance.now() - start) * connections.length) / everyMs) + 1);
    for (; said < due; said++) connections[said % connections.length]?.send(PIECE);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

const report = (message: GeminiReport): void => void process.send?.(message);
let work = Promise.resolve();
process.on('message', (order: GeminiOrder) => {
  work = work.then(() => perform(order)).then(() => report({ done: true }));
});
process.on('disconnect', () => process.exit());
report({ url: server.url });
