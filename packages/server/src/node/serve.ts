import { createServer as createHttpServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ConfigurationError, InvalidRequestError, toError } from '@eventloom/core';
import { type OptionRules, checkOptions, describeKind, requireAdvice } from '@eventloom/core/internal';
import { getRequestListener } from '@hono/node-server';
import type { EventloomServer, LiveGate } from '../create-server.ts';
import { ForbiddenError } from '../errors.ts';
import { errorBody, errorResponse, errorStatus } from '../http/error-response.ts';
import { checkRequestTarget } from '../http/request-guard.ts';
import { MAX_TIME_MS } from '../server-limits.ts';
import type { LiveUpgrades } from './live-upgrades.ts';
import { isLiveUpgrade, rawResponse } from './raw-requests.ts';

/** Options of `serve`. */
export interface ServeOptions {
  /** Port to listen on; 0 selects a free one. Default 8000. */
  readonly port?: number | undefined;
  /**
   * Address to listen on. An address that other machines can reach, such as `0.0.0.0`, requires `authenticate` or `allowUnauthenticated` of
   * the server. Default `127.0.0.1`.
   */
  readonly host?: string | undefined;
  /**
   * Time in milliseconds that `shutDown` gives active runs: half of it to end, and the other half to reach their next
   * commit, at which they are stopped. At most a day. Default 10,000.
   */
  readonly drainMs?: number | undefined;
  /**
   * Time in milliseconds, at most a day, for which `shutDown` still accepts connections. Meanwhile `/readyz` answers
   * 503, so that a load balancer sends no more requests, and a request for a run gets 503 with `SHUTTING_DOWN`. Choose
   * a time in which the load balancer notices the 503. Default 0, for a server without a load balancer.
   */
  readonly unreadyMs?: number | undefined;
}

const OPTIONS: OptionRules<ServeOptions> = {
  port: { is: 'number', isInteger: true, min: 0, max: 65_535, write: 'Number(process.env.PORT)' },
  host: { is: 'text', write: "'0.0.0.0'" },
  drainMs: { is: 'number', min: 0, max: MAX_TIME_MS },
  unreadyMs: { is: 'number', min: 0, max: MAX_TIME_MS },
};

/** A server that listens on a port: the result of `serve`. */
export interface NodeServer {
  /** Address of the server, such as `http://127.0.0.1:8000`. */
  readonly url: string;
  readonly port: number;
  /**
   * Shuts the server down. Refuses new runs, and new connections after `unreadyMs`. Lets active runs finish or reach a commit, and ends
   * live runs after the model's sentence (see `EventloomServer.drain`). Asks readers to reconnect, and then closes. Resolves at the latest
   * two seconds after the longer of `drainMs` and `unreadyMs`. A second call returns the same promise.
   */
  shutDown(): Promise<void>;
}

/** The time that connections have to receive the end of their responses, in milliseconds. */
const FLUSH_MS = 1000;
const DEFAULT_DRAIN_MS = 10_000;
/**
 * Time for which an idle connection is kept, longer than the minute for which load balancers keep theirs. A server that closes first, as
 * Node does after five seconds, resets requests in transit, and load balancers do not repeat a request for a run.
 */
const KEEP_ALIVE_MS = 65_000;
/** Maximum number of requests on one connection that are not answered completely. Browsers send one at a time. */
const MAX_PIPELINED = 8;

/**
 * Starts an HTTP server for the result of `createServer`. Resolves when it listens.
 * @throws ConfigurationError for a host that other machines can reach if the server has neither `authenticate` nor `allowUnauthenticated`,
 * a port in use, an unknown option, and a `server` that `createServer` did not return
 *
 * @example
 * const listening = await serve(createServer({ runners: [runner] }), { port: 8000 });
 * process.once('SIGTERM', () => void listening.shutDown());
 */
export async function serve(server: EventloomServer, options: ServeOptions = {}): Promise<NodeServer> {
  checkServer('serve', server);
  checkOptions('serve', OPTIONS, options);
  const { port = 8000, host = '127.0.0.1', drainMs = DEFAULT_DRAIN_MS, unreadyMs = 0 } = options;
  if (!isLoopbackHost(host) && !server.isGuarded) {
    throw new ConfigurationError(
      `host ${host}: other machines can reach this address, and requests need no authentication; ` +
        'give createServer an authenticate hook, or allowUnauthenticated: true to give every client full access',
    );
  }
  const listener = nodeListener(server);
  const { live } = server;
  const shouldUpgradeCallback = (request: IncomingMessage): boolean => isLiveUpgrade(request, live);
  let shuttingDown: Promise<void> | undefined;
  /** The responses of each connection, oldest first, without those that were finished when its latest request came. */
  const responses = new WeakMap<Socket, ServerResponse[]>();
  const http = createHttpServer({ shouldUpgradeCallback, ServerResponse: JoiningResponse }, (request, response) => {
    const { socket } = request;
    const earlier = responses.get(socket) ?? [];
    while (earlier[0]?.writableFinished) earlier.shift();
    if (earlier.push(response) > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    responses.set(socket, earlier);
    // The client's next request should reach another process.
    if (shuttingDown) response.shouldKeepAlive = false;
    listener(request, response);
  });
  http.keepAliveTimeout = KEEP_ALIVE_MS;
  // Closes connections that are idle, and those whose client reads nothing of an answer. A connection may wait long for its answer. Streams
  // end earlier, and tell the client why.
  http.setTimeout(Math.max(5 * server.limits.heartbeatMs, 1000), (socket) => {
    if (socket.writableLength > 0 || responses.get(socket)?.every(({ writableFinished }) => writableFinished))
      socket.destroy();
  });
  http.on('clientError', refuseMalformed);
  const upgrades = live && (await createUpgrades(live, server.limits.maxLiveFrameBytes));
  if (upgrades) http.on('upgrade', (incoming, connection, head) => upgrades.take(incoming, connection, head));
  await listen(http, port, host);
  const { port: actualPort } = http.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${actualPort}`,
    port: actualPort,
    shutDown: () => (shuttingDown ??= shutDown(http, upgrades, server, drainMs, unreadyMs)),
  };
}

/**
 * Returns a listener for the requests of Node's HTTP server, for an application that has one: `app.use('/agents', nodeListener(server))` of
 * Express with `basePath: '/agents'` in the options of `createServer`. It must come before handlers that read the body, such as
 * `express.json()`. Call `server.drain` when the application shuts down. Live runs need `serve`. A server with neither `authenticate` nor
 * `allowUnauthenticated` answers only requests of this machine.
 * @throws ConfigurationError for a `server` that `createServer` did not return
 *
 * @example
 * import { createServer as createHttpServer } from 'node:http';
 *
 * const listener = nodeListener(createServer({ runners: [runner], basePath: '/agents' }));
 * createHttpServer((request, response) => {
 *   if (request.url?.startsWith('/agents/')) listener(request, response);
 *   else response.end('my application');
 * }).listen(8000);
 */
export function nodeListener(server: EventloomServer): (request: IncomingMessage, response: ServerResponse) => void {
  checkServer('nodeListener', server);
  const listener = getRequestListener((request) => server.fetch(request), {
    hostname: 'localhost',
    errorHandler: (cause) =>
      errorResponse(new InvalidRequestError('the request line or its Host header is malformed', { cause })),
  });
  addBytes(globalThis.Request.prototype);
  addBytes(globalThis.Response.prototype);
  return (request, response) => {
    try {
      checkRaw(request);
      // A client can name any host, so `Host: localhost` alone does not show that it is on this machine.
      const { remoteAddress = '::1' } = request.socket;
      if (!server.isGuarded && !isLoopbackHost(remoteAddress.replace(/^::ffff:/, '')))
        throw new ForbiddenError(
          'the server answers only requests of this machine, because it has neither authenticate nor allowUnauthenticated',
        );
      if (request.readableDidRead)
        throw new ConfigurationError(
          'nodeListener: another handler has read the body of the request; add the listener before it, such as before express.json()',
        );
    } catch (error) {
      const answer = errorBody(error);
      const body = JSON.stringify(answer);
      const length = Buffer.byteLength(body);
      const status = errorStatus(answer.code);
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, connection: 'close' });
      response.end(body);
      return;
    }
    void listener(request, response);
  };
}

function checkServer(caller: string, server: EventloomServer): void {
  if (typeof server?.fetch === 'function' && typeof server.drain === 'function') return;
  throw new ConfigurationError(
    `${caller}: expected the result of createServer, got ${describeKind(server)}; write ${caller}(createServer({ runners: [runner] }))`,
  );
}

/** Adds the method `bytes`, which the faster classes of the adapter lack: it replaces `Request` and `Response` of the process. */
function addBytes(prototype: Request | Response): void {
  if (Object.hasOwn(prototype, 'bytes')) return;
  Object.defineProperty(prototype, 'bytes', {
    configurable: true,
    writable: true,
    value: async function bytes(this: Request | Response) {
      return new Uint8Array(await this.arrayBuffer());
    },
  });
}

/**
 * Loads the WebSocket library on demand, because most servers have no live runs. The library also calls `require` for modules of Node,
 * which would fail at the start of an ESM bundle of esbuild.
 */
async function createUpgrades(gate: LiveGate, maxFrameBytes: number): Promise<LiveUpgrades> {
  const { LiveUpgrades } = await import('./live-upgrades.ts').catch((cause: unknown) => {
    throw new ConfigurationError(
      `serve: the WebSocket library cannot be loaded: ${toError(cause).message}${requireAdvice(cause)}`,
      { cause },
    );
  });
  return new LiveUpgrades(gate, maxFrameBytes, checkRaw);
}

/** A response that writes its headers together with the frames that its stream produces in the same tick. */
class JoiningResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  override flushHeaders(): void {
    const { socket } = this;
    socket?.cork();
    super.flushHeaders();
    if (socket) process.nextTick(() => socket.uncork());
  }
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === 'EADDRINUSE' ? 'another process listens there; choose another port' : cause.message;
      reject(new ConfigurationError(`cannot listen on ${host}:${port}: ${reason}`, { cause }));
    };
    http.once('error', refuse);
    http.listen(port, host.replace(/^\[|\]$/g, ''), () => {
      http.off('error', refuse);
      resolve();
    });
  });
}

async function shutDown(
  http: Server,
  upgrades: LiveUpgrades | undefined,
  server: EventloomServer,
  drainMs: number,
  unreadyMs: number,
): Promise<void> {
  // From now on no run is started, and the server is not ready.
  const drained = server.drain(drainMs);
  if (unreadyMs > 0) await new Promise((resolve) => void setTimeout(resolve, unreadyMs));
  const closed = new Promise<void>((resolve) => http.close(() => resolve()));
  http.closeIdleConnections();
  await drained;
  http.closeIdleConnections();
  const timer = setTimeout(() => {
    http.closeAllConnections();
    upgrades?.cut();
  }, FLUSH_MS);
  await closed;
  clearTimeout(timer);
}

/**
 * Refuses requests by properties that are lost once the request is parsed.
 *
 * @throws InvalidRequestError
 */
function checkRaw(request: IncomingMessage): void {
  if (hasTwoHosts(request)) throw new InvalidRequestError('the request names more than one host');
  checkRequestTarget(request.url ?? '');
}

/**
 * True for a request with several Host headers, because a proxy may have checked a different one than this server (RFC 9112, section 3.2).
 */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

/** Answers bytes that are not an HTTP request, or only a part of one, with a body in the format of all other errors. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const late = new InvalidRequestError('the request did not arrive completely in time; send it again');
    socket.end(rawResponse('408 Request Timeout', late));
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(rawResponse(status, new InvalidRequestError(`not an HTTP request: ${error.message}`)));
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i;

/** True for a host that only this machine can reach, on which `serve` listens without authentication. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}
