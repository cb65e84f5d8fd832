import { checkName } from '@eventloom/core/internal';
import type { ServerRequest } from '../http/server-request.ts';
import { acceptsJson, jsonResponse, jsonTextResponse } from '../http/responses.ts';
import { INVOCATION_ID_HEADER, invocationHeader, NUMBERED_SSE_FRAMES, sseResponse } from '../http/run-response.ts';
import { respondIfExists, IF_EXISTS } from '../http/if-exists.ts';
import type { HttpRoute } from '../http/route.ts';
import { parsePosition } from '../runs/run-log.ts';
import { RUN_STATE_SCHEMA } from '../runs/run-state.ts';

const RUN = '/apps/{appName}/users/{userId}/sessions/{sessionId}/runs/{invocationId}';

/** @throws InvalidRequestError for an id that no run can have */
function runIdOf(request: ServerRequest): string {
  const id = request.param('invocationId');
  checkName('invocationId', id);
  return id;
}

async function follow(request: ServerRequest): Promise<Response> {
  const { runs } = request.server;
  const key = request.sessionKey();
  if (acceptsJson(request.raw))
    return respondIfExists(request, 'RUN_NOT_FOUND', async () => {
      const state = await runs.follower.state(request.runner().sessionService, key, runIdOf(request));
      return jsonResponse(state, {
        ...invocationHeader(state.invocationId),
        'cache-control': 'no-store',
        vary: 'Accept',
      });
    });
  const { invocationId, body } = await runs.follower.follow({
    service: request.runner().sessionService,
    key,
    id: runIdOf(request),
    position: lastEventId(request),
    format: NUMBERED_SSE_FRAMES,
  });
  if (body !== undefined) return sseResponse(invocationId, body);
  // An EventSource reconnects after every end, until it gets a 204.
  return new Response(null, { status: 204, headers: invocationHeader(invocationId) });
}

async function cancel(request: ServerRequest): Promise<Response> {
  const { live, runs } = request.server;
  const key = request.sessionKey();
  const invocationId = runIdOf(request);
  const hasEnded =
    (await live?.cancel(key, invocationId)) ?? (await runs.canceller.cancel(request.runner(), key, invocationId));
  return jsonTextResponse('null', {}, hasEnded ? 200 : 202);
}

/**
 * Returns the last event id of a request: from the header that browsers send when they reconnect, or from the query for clients that
 * cannot set headers.
 */
function lastEventId(request: ServerRequest): number {
  const header = request.raw.headers.get('last-event-id');
  if (header) return parsePosition('Last-Event-ID', header);
  const text = request.query('lastEventId');
  return text === undefined ? 0 : parsePosition('lastEventId', text);
}

/** The errors of a request that names a run. */
const RUN_CODES = [
  'APP_NOT_FOUND',
  'SESSION_NOT_FOUND',
  'RUN_NOT_FOUND',
  'APP_STATE_UNREACHABLE',
  'RUN_RELAY',
  'STORAGE_UNAVAILABLE',
  'USER_OBJECT',
];

/** The routes that follow a run again, read its state and cancel it. */
export const followRoutes: readonly HttpRoute[] = [
  {
    method: 'get',
    path: RUN,
    operationId: 'followRun',
    summary:
      'Streams the events of a run that is in flight or has ended; 204 if it has ended and there are no more. With Accept: application/json, returns the state of the run',
    query: {
      lastEventId: {
        type: 'number',
        description: 'The id of the last received event; the events after it are streamed.',
      },
      ifExists: `For the state of the run. ${IF_EXISTS}`,
    },
    headers: {
      'Last-Event-ID': 'The same, and takes precedence over the query.',
      Accept: 'application/json requests the state of the run instead of its events.',
    },
    response: { stream: 'Event' },
    asJson: RUN_STATE_SCHEMA,
    noContent: 'The run has ended, and there are no more events; with `ifExists=true`: the run does not exist',
    responseHeaders: { [INVOCATION_ID_HEADER]: 'The invocation id of the run.' },
    codes: [...RUN_CODES, 'RUN_EVENT_NOT_FOUND', 'RUN_NOT_BEGUN', 'RUN_EVENTS_GONE', 'TOO_MANY_READERS'],
    handle: follow,
  },
  {
    method: 'delete',
    path: RUN,
    operationId: 'cancelRun',
    summary:
      'Ends a run that is in flight or waits for an answer; its committed events stay. Does not change a run that has ended',
    response: { schema: { type: 'null' } },
    otherStatuses: { 202: 'The run was asked to end, and has not ended yet; ask for its state' },
    codes: [...RUN_CODES, 'SESSION_BUSY', 'RUN_OPEN'],
    handle: cancel,
  },
];
