// Requests of Node's HTTP server for which there is no `Request`, or not yet.
import type { IncomingMessage } from 'node:http';
import type { LiveGate } from '../create-server.ts';
import { errorBody } from '../http/error-response.ts';
import { isLivePath } from '../live-endpoint.ts';

/** True for a request for the WebSocket of a live run. Requests for other upgrades are answered like any other request. */
export function isLiveUpgrade({ headers, url = '' }: IncomingMessage, gate: LiveGate | undefined): boolean {
  const [path = ''] = url.split('?', 1);
  return headers.upgrade?.toLowerCase() === 'websocket' && gate !== undefined && isLivePath(path, gate);
}

/** Returns the bytes of a response for a connection without a parsed request. They end the connection. */
export function rawResponse(status: string, error: unknown): string {
  const body = JSON.stringify(errorBody(error));
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}
