// Requests as node's HTTP server has them, before they are a `Request` or without becoming one.
import type { IncomingMessage } from 'node:http';
import type { LiveGate } from '../create-server.ts';
import { errorBody } from '../http/error-response.ts';

/** True for a request for a live run's WebSocket. Other upgrades are not taken, and the request is answered like any other. */
export function isLiveUpgrade({ headers, url = '' }: IncomingMessage, gate: LiveGate | undefined): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0] === gate?.path;
}

/** The bytes of a response to a connection that did not become a request of the HTTP server. They end the connection. */
export function rawAnswer(status: string, error: unknown): string {
  const body = JSON.stringify(errorBody(error));
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}
