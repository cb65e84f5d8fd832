import type { WebSocket } from 'ws';
import type { LiveAdmission, LiveSocket } from '../live/live-socket.ts';

/** What may wait to go out before pings of the client are left without an answer. */
const MAX_PONG_BACKLOG = 64 * 1024;

/** Gives a WebSocket of node to the call that it was admitted for. */
export function openNodeSocket(webSocket: WebSocket, admission: LiveAdmission): void {
  const call = admission.open(toLiveSocket(webSocket, (size) => call?.taken(size)));
  webSocket.on('message', (data: Buffer, isBinary) => call.message(isBinary ? data : data.toString()));
  webSocket.on('ping', (data) => {
    if (webSocket.bufferedAmount < MAX_PONG_BACKLOG) webSocket.pong(data);
  });
  webSocket.on('pong', () => call.pong());
  webSocket.on('close', () => call.closed());
  // A close follows; what is wrong is the client's.
  webSocket.on('error', () => undefined);
}

function toLiveSocket(webSocket: WebSocket, onTaken: (size: number) => void): LiveSocket {
  return {
    tellsTaken: true,
    send: (frame) => webSocket.send(frame, () => onTaken(frame.length)),
    close: (code, reason) => webSocket.close(code, reason),
    ping: () => webSocket.ping(),
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
  };
}
