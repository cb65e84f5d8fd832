import { InvalidRequestError } from '@eventloom/core';
import { confine } from '../http/confine.ts';
import { errorBody } from '../http/error-body.ts';
import { runnerOf } from '../http/runner-of.ts';
import type { ServerContext } from '../server-context.ts';
import type { AuthenticatedUser } from '../server-options.ts';
import { liveCloseOf } from './live-close.ts';
import { LIVE_PATH, type LiveQuery, parseLiveQuery } from './live-query.ts';
import type { LiveAdmission, LiveSocket, LiveSocketEvents } from './live-socket.ts';

/** The protocol that a client names which names any, such as one that gives its token as another. */
export const LIVE_PROTOCOL = 'eventloom';

/**
 * Checks who asks for what before there is a socket, so that nobody is listened to who is not let in.
 * @param identify guards the request and says who it comes from
 * @param report told of failures that are the server's own
 */
export async function admitLive(
  request: Request,
  server: ServerContext,
  identify: () => Promise<AuthenticatedUser | undefined>,
  report: (error: unknown) => void,
): Promise<LiveAdmission> {
  const protocol = liveProtocolOf(request);
  const refuse = (error: unknown, socket: LiveSocket): LiveSocketEvents => {
    report(error);
    return refuseLive(error, socket);
  };
  try {
    const user = await identify();
    const query = parseLiveQuery(new URL(request.url).searchParams);
    confine(user, query.key.userId);
    const runner = runnerOf(server, query.key.appName);
    checkAgainst(runner, query);
    return {
      protocol,
      open(socket) {
        try {
          return server.calls.start({ ...query, runner, socket });
        } catch (error) {
          return refuse(error, socket);
        }
      },
    };
  } catch (error) {
    return { protocol, open: (socket) => refuse(error, socket) };
  }
}

/** Tells who asks for a call why there is none. */
export function refuseLive(error: unknown, socket: LiveSocket): LiveSocketEvents {
  socket.send(JSON.stringify(errorBody(error)));
  const { code, reason } = liveCloseOf(error);
  socket.close(code, reason);
  const nothing = (): void => undefined;
  return { message: nothing, taken: nothing, pong: nothing, closed: nothing, ended: Promise.resolve() };
}

/** True for a request that asks for a WebSocket at the address of calls. */
export function isLiveRequest(request: Request): boolean {
  return request.headers.get('upgrade')?.toLowerCase() === 'websocket' && new URL(request.url).pathname === LIVE_PATH;
}

function checkAgainst({ artifactService }: { readonly artifactService?: unknown }, { runConfig }: LiveQuery): void {
  if (runConfig.saveLiveBlob && !artifactService) {
    throw new InvalidRequestError('save_live_blob: the app has no place to save audio in; leave it out');
  }
}

/** The protocol to name in the handshake: a browser that asked for some, and is named none, takes it for a failure. */
export function liveProtocolOf({ headers }: Request): string | undefined {
  const offered = headers.get('sec-websocket-protocol')?.split(',') ?? [];
  return offered.some((name) => name.trim() === LIVE_PROTOCOL) ? LIVE_PROTOCOL : undefined;
}
