import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { InvalidRequestError } from '@eventloom/core';
import { type ServerOptions, WebSocketServer } from 'ws';
import type { LiveGate } from '../create-server.ts';
import { ExplainedWebSocket, openNodeSocket } from './node-live-socket.ts';
import { isLiveUpgrade, rawResponse } from './raw-requests.ts';

/** The time that a client has to receive the last messages and to close its side, in milliseconds. */
const SOCKET_CLOSE_MS = 5000;

/**
 * Turns upgraded connections into live runs. A request is checked before the handshake; no frame of the client is read
 * before the check.
 */
export class LiveUpgrades {
  readonly #gate: LiveGate;
  readonly #check: (request: IncomingMessage) => void;
  readonly #sockets: WebSocketServer;
  readonly #connections = new Set<Duplex>();

  /**
   * @param maxPayload maximum size of a frame, in bytes
   * @param check refuses requests by properties that are lost once the request is parsed
   */
  constructor(gate: LiveGate, maxPayload: number, check: (request: IncomingMessage) => void) {
    this.#gate = gate;
    this.#check = check;
    // The types of the library lack the option for the time to close.
    const options: ServerOptions & { closeTimeout: number } = {
      noServer: true,
      WebSocket: ExplainedWebSocket,
      clientTracking: false,
      // Compression does not make speech smaller, and needs memory for each connection.
      perMessageDeflate: false,
      maxPayload,
      autoPong: false,
      // One frame of a connection per turn, so that a client that sends without a pause does not hold up the others.
      allowSynchronousEvents: false,
      closeTimeout: SOCKET_CLOSE_MS,
      handleProtocols: (offered) => offered.has(gate.protocol) && gate.protocol,
    };
    this.#sockets = new WebSocketServer(options);
  }

  /** Listener for the event `upgrade` of an HTTP server. */
  take(incoming: IncomingMessage, connection: Duplex, head: Buffer): void {
    this.#connections.add(connection);
    connection.on('close', () => this.#connections.delete(connection));
    const drop = (): void => void connection.destroy();
    connection.on('error', drop);
    let request: Request;
    try {
      const gate = this.#gate;
      if (!isLiveUpgrade(incoming, gate))
        throw new InvalidRequestError(`upgrades are for WebSockets at ${gate.path} only`);
      this.#check(incoming);
      request = toRequest(incoming);
    } catch (error) {
      connection.end(rawResponse('400 Bad Request', error));
      return;
    }
    void this.#gate.admit(request).then((admission) => {
      connection.off('error', drop);
      // The library answers requests that are not a handshake.
      this.#sockets.handleUpgrade(incoming, connection, head, (webSocket) => openNodeSocket(webSocket, admission));
    });
  }

  /** Ends the remaining connections. */
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
