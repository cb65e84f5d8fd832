import { UpgradeRequiredError } from '../errors.ts';
import { errorResponse } from '../http/error-response.ts';
import type { Route } from '../http/route.ts';
import { LIVE_PARAMETERS, LIVE_PATH } from '../live/live-query.ts';

/** Calls. What asks for a WebSocket is answered before any route is looked for; this is for what asks for none. */
export const liveRoutes: readonly Route[] = [
  {
    method: 'get',
    path: LIVE_PATH,
    operationId: 'runLive',
    summary:
      'A WebSocket: runs the agent live, with events as text frames, and closes with a reason. Names may be in camel case too',
    query: LIVE_PARAMETERS,
    answer: { webSocket: 'Event' },
    errors: [426],
    handle: () =>
      errorResponse(new UpgradeRequiredError('this address is for WebSockets: ask for an upgrade'), {
        upgrade: 'websocket',
      }),
  },
];
