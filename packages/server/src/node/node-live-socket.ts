import { type EventloomError, InvalidRequestError } from '@eventloom/core';
import { WebSocket } from 'ws';
import { BodyTooLargeError } from '../errors.ts';
import { errorBody, socketCloseOf } from '../http/error-response.ts';
import type { LiveAdmission, LiveSocket } from '../live-endpoint.ts';

/** Pings of the client are answered only while fewer than this number of bytes are unsent. */
const MAX_PONG_BACKLOG = 64 * 1024;

/** Errors for the protocol errors at which the library closes a connection, because the library reports only their codes. */
const FAULTS: Readonly<Record<number, EventloomError>> = {
  1002: new InvalidRequestError('frame: violates the WebSocket protocol'),
  1007: new InvalidRequestError('frame: is not UTF-8'),
  1009: new BodyTooLargeError('frame: is larger than this server accepts'),
};

/** A WebSocket whose close frame has a reason, even if the library closes it. */
export class ExplainedWebSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    const fault = reason === undefined && code !== undefined ? FAULTS[code] : undefined;
    if (!fault || this.readyState !== WebSocket.OPEN) return super.close(code, reason);
    this.send(JSON.stringify(errorBody(fault)));
    super.close(code, socketCloseOf(fault).reason);
  }
}

/** Connects a WebSocket of Node to the live run for which it was admitted. */
export function openNodeSocket(webSocket: WebSocket, admission: LiveAdmission): void {
  const call = admission.open(toLiveSocket(webSocket, (size) => call?.taken(size)));
  webSocket.on('message', (data: Buffer, isBinary) => call.message(isBinary ? data : data.toString()));
  webSocket.on('ping', (data) => {
    if (webSocket.bufferedAmount < MAX_PONG_BACKLOG) webSocket.pong(data);
  });
  webSocket.on('pong', () => call.pong());
  webSocket.on('close', () => call.closed());
  // A close follows; the client caused the error.
  webSocket.on('error', () => undefined);
}

function toLiveSocket(webSocket: WebSocket, onTaken: (size: number) => void): LiveSocket {
  return {
    reportsTaken: true,
    send: (frame) => webSocket.send(frame, () => onTaken(frame.length)),
    close: (code, reason) => webSocket.close(code, reason),
    ping: () => webSocket.ping(),
    pause: () => webSocket.pause(),
    resume: () => webSocket.resume(),
  };
}
