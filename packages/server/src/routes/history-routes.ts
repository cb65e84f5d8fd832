import { InvalidRequestError, serializeEvent } from '@eventloom/core';
import { sessionKeyOf } from '@eventloom/core/internal';
import { readForkSessionRequest, readRewindSessionRequest } from '@eventloom/core/wire';
import { respondIfExists, IF_EXISTS, NO_SESSION } from '../http/if-exists.ts';
import { checkId } from '../http/request-body.ts';
import type { ServerRequest } from '../http/server-request.ts';
import { cursorHeader, jsonTextResponse, NEXT_CURSOR } from '../http/responses.ts';
import type { BodySpec, HttpRoute } from '../http/route.ts';
import { eventListParts, readSessionText } from '../http/session-text.ts';
import { forkSession } from '../sessions/fork-session.ts';

const REWIND = { component: 'RewindSessionBody', read: readRewindSessionRequest } satisfies BodySpec;
const FORK = { component: 'ForkSessionBody', read: readForkSessionRequest } satisfies BodySpec;
const SESSION = '/apps/{appName}/users/{userId}/sessions/{sessionId}';

async function listEvents(request: ServerRequest): Promise<Response> {
  const key = request.sessionKey();
  const order = request.query('order');
  if (order !== undefined && order !== 'asc' && order !== 'desc') {
    throw new InvalidRequestError(`order: expected asc or desc, got ${JSON.stringify(order)}`);
  }
  const { sessionService } = request.runner();
  const listing = { ...key, order, limit: request.queryInteger('limit'), cursor: request.query('cursor') } as const;
  return respondIfExists(request, 'SESSION_NOT_FOUND', () =>
    request.server.responses.respond(key.userId, async () => {
      const { events, nextCursor } = await sessionService.listEvents(listing);
      return { parts: eventListParts(events), headers: cursorHeader(nextCursor) };
    }),
  );
}

async function rewind(request: ServerRequest): Promise<Response> {
  const { userId, sessionId } = request.sessionKey();
  const { rewindBeforeInvocationId, onBusy } = await request.body(REWIND);
  request.quota.count('queued', 1);
  const event = await request.runner().rewindAsync({ userId, sessionId, rewindBeforeInvocationId, onBusy });
  return jsonTextResponse(serializeEvent(event));
}

async function fork(request: ServerRequest): Promise<Response> {
  const key = request.sessionKey();
  const { afterEventId, sessionId } = await request.body(FORK);
  if (sessionId !== undefined) checkId('sessionId', sessionId);
  request.quota.count('queued', 1);
  const runner = request.runner();
  const { sessionService } = runner;
  return request.server.responses.respondToChange(key.userId, async () => {
    const session = await forkSession(runner, {
      ...key,
      afterEventId,
      newSessionId: sessionId,
      queue: request.server.largeTexts,
      maxChars: request.server.limits.maxBodyBytesInFlightPerUser,
      // The events are in memory until the copy is stored, like those of an import.
      onRead: (chars) => request.quota.count('bodyBytes', chars),
    });
    const copy = sessionKeyOf(session);
    return () => readSessionText(sessionService, copy);
  });
}

/** The routes that read the history of a session in pages, rewind it and copy it. */
export const historyRoutes: readonly HttpRoute[] = [
  {
    method: 'get',
    path: `${SESSION}/events`,
    operationId: 'listEvents',
    summary: `A page of the session's events; the header ${NEXT_CURSOR} is present if there are more`,
    query: {
      order: 'asc (default) begins with the oldest event, desc with the newest.',
      limit: { type: 'integer', description: 'Maximum number of events, at most 1000. Default 100.' },
      cursor: `The ${NEXT_CURSOR} of the previous page, which has the same order.`,
      ifExists: IF_EXISTS,
    },
    response: { component: 'Event', isList: true },
    noContent: NO_SESSION,
    errors: [429],
    handle: listEvents,
  },
  {
    method: 'post',
    path: `${SESSION}/rewind`,
    operationId: 'rewindSession',
    summary:
      'Rewinds the session to before an invocation: its own state and artifacts, not the shared ones. Returns the rewind event',
    body: REWIND,
    response: { component: 'Event' },
    errors: [409],
    handle: rewind,
  },
  {
    method: 'post',
    path: `${SESSION}/fork`,
    operationId: 'forkSession',
    summary:
      'Copies the session as it was after an event: its events, own state and artifacts. Returns the new session. State of the user and the app does not change',
    body: FORK,
    response: { component: 'Session' },
    errors: [409],
    handle: fork,
  },
];
