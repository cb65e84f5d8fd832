import type { Platform, SessionKey } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import type { RunConfigHook } from './http/run-policy.ts';
import type { Route } from './http/route.ts';
import type { FrontContext } from './server-context.ts';
import type { ServerLimits } from './server-limits.ts';
import type { AuthenticatedUser } from './server-options.ts';

/** Live runs over WebSockets, as an option of a server. Made by `liveEndpoint()` of `@eventloom/live/server`. */
export interface LiveEndpoint {
  /** The path of the WebSockets: `/run_live`. */
  readonly path: string;
  /** The subprotocol named to a client that offers it. */
  readonly protocol: string;
  /** Describes the endpoint in the OpenAPI document, and answers requests that ask for no WebSocket. */
  readonly routes: readonly Route<FrontContext>[];

  /** Hosts the live runs of one server. */
  createHost(server: LiveServer): LiveHost;

  /** The session that a request for a live run names. @throws InvalidRequestError */
  sessionKeyOf(request: Request): SessionKey;

  /** Tells the client of an open socket why there is no run, and closes the socket. */
  refuse(error: unknown, socket: LiveSocket): LiveSocketEvents;
}

/** The parts of a server that live runs need. */
export interface LiveServer {
  readonly runners: ReadonlyMap<string, Runner>;
  readonly limits: ServerLimits;
  /** Decides about the config of runs, if the server has the hook. */
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
   * Decides about a request before there is a socket, so that no frame is read of a client that is refused. Never rejects.
   * @param identify guards the request and authenticates its user
   */
  admit(request: Request, identify: () => Promise<AuthenticatedUser | undefined>): Promise<LiveAdmission>;

  /**
   * Ends the live run of a session with this id and waits a short while for its end. Resolves to true when the end is stored, to false when the
   * run has not ended yet, and to undefined when there is no such run here, or its end could not be stored.
   */
  cancel(key: SessionKey, invocationId: string): Promise<boolean | undefined>;

  /** Ends the live runs of a session that is about to be deleted. Resolves when they have ended. */
  forgetSession(key: SessionKey): Promise<void>;

  /**
   * Accepts no further run and ends the active ones: for half of the time the model may finish its sentence, then the words so far are
   * stored, and at the end of the time the run ends at once. Resolves at the latest one second later.
   */
  drain(timeoutMs: number): Promise<void>;
}

/** One end of a WebSocket, for a live run. `./node` and `@eventloom/cloudflare` adapt the sockets of their runtimes. */
export interface LiveSocket {
  /** Sends a frame: text or binary. Does nothing after a close. */
  send(frame: string | Uint8Array<ArrayBuffer>): void;
  /** Closes the socket with a code and a reason. Frames sent before arrive first. A second call does nothing. */
  close(code: number, reason: string): void;
  /** Sends a ping, which the client's runtime answers. Absent if this runtime cannot send pings. */
  ping?(): void;
  /** Lets frames wait at their sender, until `resume`. Absent where the runtime cannot. */
  pause?(): void;
  resume?(): void;
  /** True when `LiveSocketEvents.taken` is called for all that is sent. */
  readonly tellsTaken: boolean;
}

/** The events of a WebSocket, for a live run. */
export interface LiveSocketEvents {
  /** A frame came. The bytes are read before this returns. */
  message(frame: string | Uint8Array): void;
  /** Called when this many bytes of the sent frames have left, text counted in characters. */
  taken(size: number): void;
  /** A ping was answered. */
  pong(): void;
  /** The connection has ended, whichever end closed it. */
  closed(): void;
  /** Resolves when the run has ended and all its events are stored. Never rejects. */
  readonly ended: Promise<void>;
}

/** The answer to a request for a live run. */
export interface LiveAdmission {
  /** The subprotocol to name in the handshake, of those that the request offers; undefined for none. */
  readonly protocol: string | undefined;
  /** Starts the run. A refused client gets the reason on the open socket, which is then closed: a web page sees nothing of a failed handshake. */
  open(socket: LiveSocket): LiveSocketEvents;
}

/** True for a request that asks for a WebSocket at the path of an endpoint. */
export function isLiveRequest(request: Request, { path }: Pick<LiveEndpoint, 'path'>): boolean {
  return request.headers.get('upgrade')?.toLowerCase() === 'websocket' && new URL(request.url).pathname === path;
}

/** The subprotocol to name in the handshake: a browser that offers some and is named none fails the connection. */
export function liveProtocolOf({ headers }: Request, { protocol }: Pick<LiveEndpoint, 'protocol'>): string | undefined {
  const offered = headers.get('sec-websocket-protocol')?.split(',') ?? [];
  return offered.some((name) => name.trim() === protocol) ? protocol : undefined;
}
