import { type LiveEndpoint, UpgradeRequiredError } from '@eventloom/server';
import { errorResponse } from '@eventloom/server/internal';
import { HostedLiveRuns, refuseLive } from './hosted-live-runs.ts';
import { LIVE_PARAMETERS, LIVE_PATH, LIVE_PROTOCOL, parseLiveQuery } from './live-query.ts';

/**
 * Lets a server serve live runs at `/run_live`, for its runners with live support.
 *
 * @example
 * import { createServer } from '@eventloom/server';
 *
 * const server = createServer({ runners: [runner], live: liveEndpoint() });
 */
export function liveEndpoint(): LiveEndpoint {
  return {
    path: LIVE_PATH,
    protocol: LIVE_PROTOCOL,
    routes: [
      {
        method: 'get',
        path: LIVE_PATH,
        operationId: 'runLive',
        summary:
          'A WebSocket: runs the agent live, with events as text frames, and closes with a reason. Names may be in camel case too. Other options of the run config are refused, because only the server sets them',
        query: LIVE_PARAMETERS,
        response: { webSocket: 'Event' },
        errors: [426],
        handle: () =>
          errorResponse(
            new UpgradeRequiredError('this address accepts only WebSocket requests; send an Upgrade header'),
            {
              upgrade: 'websocket',
            },
          ),
      },
    ],
    createHost: (server) => new HostedLiveRuns(server),
    sessionKeyOf: (request) => parseLiveQuery(new URL(request.url).searchParams).key,
    refuse: refuseLive,
  };
}
