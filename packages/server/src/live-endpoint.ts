import type { Platform, SessionKey } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { RunConfigHook } from './http/run-policy.ts';
import type { HttpRoute } from './http/route.ts';
import type { FrontContext } from './server-context.ts';
import type { ServerLimits } from './server-limits.ts';
import type { AuthenticatedUser } from './server-options.ts';

/** Live runs over WebSockets, as an option of a server. `liveEndpoint()` of `@eventloom/live/server` creates it. */
export interface LiveEndpoint {
  /** The path of the WebSockets: `/run_live`. */
  readonly path: string;
  /** The WebSocket subprotocol that the server confirms to a client that offers it. */
  readonly protocol: string;
  /** Routes that describe the endpoint in the OpenAPI document, and answer requests that do not ask for a WebSocket. */
  readonly routes: readonly HttpRoute<FrontContext>[];

  /** Creates the host of the live runs of one server. */
  createHost(server: LiveServer): LiveHost;

  /** Returns the session that a request for a live run names. @throws InvalidRequestError */
  sessionKeyOf(request: Request): SessionKey;

  /** Closes an open socket whose run is refused, with the reason for the client. */
  refuse(error: unknown, socket: LiveSocket): LiveSocketEvents;
}

/** The parts of a server that live runs need. */
export interface LiveServer {
  readonly runners: ReadonlyMap<string, Runner>;
  readonly limits: ServerLimits;
  /** The server's hook that decides the options of runs; undefined if it has none. */
  readonly runConfig?: RunConfigHook | undefined;
  readonly platform: Platform;
  /** Reports a failure of the server itself. */
  readonly report: (error: unknown) => void;
}

/** The live runs of one server. */
export interface LiveHost {
  /** The number of active live runs. */
  readonly size: number;

  /**
   * Accepts or refuses a request before its socket is open, so that no frame of a refused client is read. Never rejects.
   * @param identified the authenticated user; rejects if the request is refused
   */
  admit(request: Request, identified: Promise<AuthenticatedUser | undefined>): Promise<LiveAdmission>;

  /**
   * Ends the live run with this id, and waits a short time for its end. Resolves to true once the end is stored, to false if the run has
   * not ended in that time, and to undefined if this process has no such run or its end could not be stored.
   */
  cancel(key: SessionKey, invocationId: string): Promise<boolean | undefined>;

  /** Ends the live runs of a session that is about to be deleted. Resolves when they have ended. */
  forgetSession(key: SessionKey): Promise<void>;

  /**
   * Refuses new runs and ends the active ones. For half of `timeoutMs` the model may finish its sentence; then the speech so far is stored;
   * after `timeoutMs` the run is aborted. Resolves at the latest one second later.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** One end of a WebSocket, for a live run. `./node` and `@eventloom/cloudflare` adapt the sockets of their runtimes. */
export interface LiveSocket {
  /** Sends a frame: text or binary. Does nothing after a close. */
  send(frame: string | Uint8Array<ArrayBuffer>): void;
  /** Closes the socket with a code and a reason, after the frames that were sent before. A second call does nothing. */
  close(code: number, reason: string): void;
  /** Sends a ping, which the client's runtime answers. Absent if this runtime cannot send pings. */
  ping?(): void;
  /** Stops reading, so that frames wait at their sender until `resume`. Absent if the runtime cannot stop. */
  pause?(): void;
  resume?(): void;
  /** True if `LiveSocketEvents.taken` is called for all sent frames. */
  readonly reportsTaken: boolean;
}

/** The events of a WebSocket, for a live run. */
export interface LiveSocketEvents {
  /** Called with each frame of the client. The bytes are read before it returns. */
  message(frame: string | Uint8Array): void;
  /** Called with the size of sent frames that have left this process: bytes, and characters for text. */
  taken(size: number): void;
  /** Called when the client has answered a ping. */
  pong(): void;
  /** Called when the connection has ended, closed by either side. */
  closed(): void;
  /** Resolves when the run has ended and all its events are stored. Never rejects. */
  readonly ended: Promise<void>;
}

/** The answer to a request for a live run. */
export interface LiveAdmission {
  /** The subprotocol to confirm in the handshake, one that the request offers; undefined for none. */
  readonly protocol: string | undefined;
  /**
   * Starts the run on the open socket. If the request was refused, closes the socket with the reason, because a web page cannot read a
   * failed handshake.
   */
  open(socket: LiveSocket): LiveSocketEvents;
}

/** The path of live runs, and the base path of the server, which a request may have or not. */
interface LiveEndpointPath {
  readonly path: string;
  readonly basePath: string;
}

/** True for the path of live runs. */
export function isLivePath(pathname: string, { path, basePath }: LiveEndpointPath): boolean {
  return pathname === path || pathname === basePath + path;
}

/** True for a request that asks for a WebSocket at the path of live runs. */
export function isLiveRequest(request: Request, live: LiveEndpointPath): boolean {
  return (
    request.headers.get('upgrade')?.toLowerCase() === 'websocket' && isLivePath(new URL(request.url).pathname, live)
  );
}

/**
 * Returns the subprotocol to confirm in the handshake; undefined for none. A browser that offers some fails if the server confirms none.
 */
export function liveProtocolOf({ headers }: Request, { protocol }: Pick<LiveEndpoint, 'protocol'>): string | undefined {
  const offered = headers.get('sec-websocket-protocol')?.split(',') ?? [];
  return offered.some((name) => name.trim() === protocol) ? protocol : undefined;
}
