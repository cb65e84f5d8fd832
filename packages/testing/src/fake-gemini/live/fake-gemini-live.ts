import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { UnconsumedStepsError, UnexpectedRequestError } from '../../errors.ts';
import { FakeLiveConnection } from './fake-live-connection.ts';
import { checkLiveScript, type FakeLiveConnectionScript, type FakeLiveScript } from './fake-live-script.ts';
import { parseLivePath } from './parse-live-path.ts';

/**
 * The live connections of the fake Gemini server: WebSockets that send the messages of scripts, one script for each connection. A
 * connection without a script is answered with HTTP status 400, and `assertConsumed` throws.
 */
export class FakeGeminiLive {
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 256 * 1024 * 1024 });
  readonly #scripts: FakeLiveScript[] = [];
  readonly #connections: FakeLiveConnection[] = [];
  #attempts = 0;
  #arrival = Promise.withResolvers<void>();
  #fault: UnexpectedRequestError | undefined;

  /** Adds scripts for the next connections. @throws ConfigurationError for a value that is not a script, and for an unknown field */
  enqueue(...scripts: readonly FakeLiveScript[]): void {
    for (const [index, script] of scripts.entries())
      checkLiveScript(`FakeGeminiLive.enqueue: scripts[${index}]`, script);
    this.#scripts.push(...scripts);
  }

  /** The connections so far, in order, without those that were answered with an HTTP status. */
  get connections(): readonly FakeLiveConnection[] {
    return this.#connections;
  }

  /** Number of connections that were requested. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Waits for the connection with this index, from 0. */
  async connection(index: number): Promise<FakeLiveConnection> {
    for (;;) {
      const connection = this.#connections[index];
      if (connection) return connection;
      await this.#arrival.promise;
    }
  }

  /** Checks that all scripts were played. @throws the first fault of a connection, or UnconsumedStepsError if scripts or steps are left */
  assertConsumed(): void {
    if (this.#fault) throw this.#fault;
    const left = this.#scripts.length - this.#attempts;
    if (left > 0) throw new UnconsumedStepsError(`fake Gemini server: ${left} live connections were not opened`);
    for (const [index, { stepsLeft }] of this.#connections.entries()) {
      if (stepsLeft === 0) continue;
      throw new UnconsumedStepsError(
        `fake Gemini server: ${stepsLeft} steps of live connection ${index + 1} were not played`,
      );
    }
  }

  /** Upgrades an HTTP request to a WebSocket. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const path = parseLivePath(incoming.url ?? '');
    const script = this.#scripts[this.#attempts++];
    if (!path || !script) {
      const what = path ? 'was not expected' : `asks for ${incoming.url?.split('?')[0]}, which Gemini does not know`;
      this.#fault ??= new UnexpectedRequestError(`fake Gemini server: live connection ${this.#attempts} ${what}`);
      return refuseWithStatus(socket, 400);
    }
    const whole: FakeLiveConnectionScript = hasOptions(script) ? script : { steps: script };
    if (whole.status !== undefined) return refuseWithStatus(socket, whole.status);
    const headers = incoming.headers as Record<string, string>;
    this.#sockets.handleUpgrade(incoming, socket, head, (webSocket) => {
      const connection = new FakeLiveConnection(webSocket, path, headers, whole);
      this.#connections.push(connection);
      this.#arrival.resolve();
      this.#arrival = Promise.withResolvers();
      connection.play().catch((cause: unknown) => {
        this.#fault ??= new UnexpectedRequestError('fake Gemini server: a function of a live script failed', { cause });
        connection.cut();
      });
    });
  }

  /** Ends all connections without a close frame. */
  close(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#sockets.close();
  }
}

function hasOptions(script: FakeLiveScript): script is FakeLiveConnectionScript {
  return !Array.isArray(script);
}

function refuseWithStatus(socket: Duplex, status: number): void {
  socket.end(`HTTP/1.1 ${status} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
