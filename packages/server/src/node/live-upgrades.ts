import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { InvalidRequestError } from '@eventloom/core';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { EventloomServer } from '../create-server.ts';
import { LIVE_PROTOCOL } from '../live/admit-live.ts';
import { LIVE_PATH } from '../live/live-query.ts';
import { ExplainedWebSocket, openNodeSocket } from './node-live-socket.ts';
import { rawAnswer } from './raw-answer.ts';

/** How long a client gets to take the end of what it was sent, and to close its side. */
const CLOSE_TIMEOUT_MS = 5000;

/** True for what asks for a WebSocket at the address of calls. Other upgrades are not taken, and the request is answered as any. */
export function isLiveUpgrade({ headers, url = '' }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0] === LIVE_PATH;
}

/** Makes calls of upgraded connections. Who asks is checked before the handshake; nothing of the client is read until then. */
export class LiveUpgrades {
  readonly #server: EventloomServer;
  readonly #check: (request: IncomingMessage) => void;
  readonly #sockets: WebSocketServer;
  readonly #connections = new Set<Duplex>();

  /** @param check refuses what can only be seen before the request is parsed */
  constructor(server: EventloomServer, check: (request: IncomingMessage) => void) {
    this.#server = server;
    this.#check = check;
    // The types do not know the time for closing yet.
    const options: ServerOptions & { closeTimeout: number } = {
      noServer: true,
      WebSocket: ExplainedWebSocket,
      clientTracking: false,
      // Speech does not get smaller, and a context for each connection costs more than it.
      perMessageDeflate: false,
      maxPayload: server.limits.maxLiveFrameBytes,
      autoPong: false,
      closeTimeout: CLOSE_TIMEOUT_MS,
      handleProtocols: (offered) => offered.has(LIVE_PROTOCOL) && LIVE_PROTOCOL,
    };
    this.#sockets = new WebSocketServer(options);
  }

  /** For the event `upgrade` of an HTTP server. */
  take(incoming: IncomingMessage, connection: Duplex, head: Buffer): void {
    this.#connections.add(connection);
    connection.on('close', () => this.#connections.delete(connection));
    const drop = (): void => void connection.destroy();
    connection.on('error', drop);
    let request: Request;
    try {
      if (!isLiveUpgrade(incoming)) throw new InvalidRequestError(`upgrades are for WebSockets at ${LIVE_PATH} only`);
      this.#check(incoming);
      request = toRequest(incoming);
    } catch (error) {
      connection.end(rawAnswer('400 Bad Request', error));
      return;
    }
    void this.#server.admitLive(request).then((admission) => {
      connection.off('error', drop);
      // What is no handshake is answered by the library.
      this.#sockets.handleUpgrade(incoming, connection, head, (webSocket) => openNodeSocket(webSocket, admission));
    });
  }

  /** Cuts the connections that are left. */
  cut(): void {
    for (const connection of this.#connections) connection.destroy();
  }
}

/** @throws InvalidRequestError */
function toRequest({ headers, url = '' }: IncomingMessage): Request {
  const address = `http://${headers.host ?? ''}${url}`;
  if (!URL.canParse(address)) throw new InvalidRequestError('the request line or its Host header is malformed');
  const given = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(address, { headers: given });
}
