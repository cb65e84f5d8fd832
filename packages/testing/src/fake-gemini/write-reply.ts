import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { Gate } from '../gate.ts';
import type { FakeGeminiReply } from './fake-gemini-reply.ts';
import { splitBytes } from './split-bytes.ts';

/**
 * Writes a reply piece by piece, so that the client reads each piece separately. Stops when the client closes the connection. Returns true
 * if the socket must be destroyed now.
 */
export async function writeReply(
  outgoing: ServerResponse,
  reply: FakeGeminiReply,
  closed: AbortSignal,
): Promise<boolean> {
  const { status = 200, headers, body, frames, split, end = 'finish', gate } = reply;
  if (gate) await passOrClose(gate, closed);
  const items = frames ?? (body === undefined ? [] : [typeof body === 'string' ? body : JSON.stringify(body)]);
  if (items.length > 0 || end === 'finish') {
    const contentType = frames ? 'text/event-stream' : 'application/json; charset=UTF-8';
    outgoing.writeHead(status, { 'content-type': contentType, ...headers });
    outgoing.flushHeaders();
  }
  for (const item of items) {
    if (item instanceof Gate) {
      await passOrClose(item, closed);
      continue;
    }
    const bytes = new TextEncoder().encode(typeof item === 'string' ? item : `data: ${JSON.stringify(item)}\r\n\r\n`);
    for (const piece of split ? splitBytes(bytes, split) : [bytes]) {
      if (closed.aborted) return false;
      await written(outgoing, piece);
    }
  }
  if (end === 'finish' && !closed.aborted) outgoing.end();
  return end === 'cut';
}

/** Waits until the gate opens or the connection is closed. */
function passOrClose(gate: Gate, closed: AbortSignal): Promise<void> {
  return gate.pass(closed).catch(() => undefined);
}

/**
 * Writes a piece, and then gives a client in this process the turns of the event loop that it needs to read the piece
 * separately.
 */
async function written(outgoing: ServerResponse, piece: Uint8Array): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  outgoing.write(piece, () => resolve());
  await promise;
  for (let turns = 0; turns < 2; turns++) await setImmediate();
}
