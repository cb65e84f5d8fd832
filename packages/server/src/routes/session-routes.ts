import {
  type BaseArtifactService,
  createEvent,
  type GetSessionConfig,
  InvalidRequestError,
  type ListSessionsRequest,
  type Session,
  type SessionKey,
} from '@eventloom/core';
import {
  checkStateDelta,
  isRecord,
  isUserArtifact,
  sessionKeyOf,
  weigh,
  readWithoutEvents,
} from '@eventloom/core/internal';
import {
  type CreateSessionBody,
  hasOnlyCreationFields,
  readCreateSessionRequest,
  readCreateSessionSteps,
  readPatchSessionRequest,
} from '@eventloom/core/wire';
import type { Runner } from '@eventloom/runner';
import type { ServerRequest } from '../http/server-request.ts';
import { respondIfExists, IF_EXISTS, NO_SESSION } from '../http/if-exists.ts';
import { inSlices } from '../http/in-slices.ts';
import { checkEventCounts, checkId } from '../http/request-body.ts';
import { type ResponseText, SMALL_CHARS } from '../http/large-responses.ts';
import { cursorHeader, jsonResponse, NEXT_CURSOR } from '../http/responses.ts';
import type { BodySpec, HttpRoute } from '../http/route.ts';
import { noSessionError, readSessionText, sessionListParts, sessionParts } from '../http/session-text.ts';
import { createSessionWithEvents } from '../sessions/create-session.ts';

const CREATE = {
  component: 'CreateSessionBody',
  read: readCreateSessionRequest,
  isOptional: true,
} satisfies BodySpec;
const PATCH = { component: 'PatchSessionBody', read: readPatchSessionRequest } satisfies BodySpec;
const SESSIONS = '/apps/{appName}/users/{userId}/sessions';
const SESSION = `${SESSIONS}/{sessionId}`;

async function create(request: ServerRequest): Promise<Response> {
  const { server } = request;
  const userId = request.userId();
  const runner = request.runner();
  const { sessionId, state, events } = await readCreation(request, await request.json(true));
  if (sessionId !== undefined) checkId('sessionId', sessionId);
  request.checkStateAccess('state', Object.keys(state ?? {}));
  return server.responses.respondToChange(userId, async () =>
    createdText(runner, await createSessionWithEvents(runner, server, { userId, sessionId, state, events })),
  );
}

/** Reads the body of a new session in steps: its events may be many and large. @throws BodyTooLargeError @throws InvalidRequestError */
async function readCreation(
  { server: { limits, platform } }: ServerRequest,
  json: unknown,
): Promise<CreateSessionBody> {
  await inSlices(platform, checkEventCounts(json, limits));
  return inSlices(platform, readCreateSessionSteps(json));
}

/** Returns the text of a new session. One with events or much state is read again when it is answered. */
function createdText({ sessionService }: Runner, session: Session): () => ResponseText | Promise<ResponseText> {
  if (session.lastSeq === 0 && weigh(session.state) <= SMALL_CHARS) return () => ({ parts: sessionParts(session) });
  const key = sessionKeyOf(session);
  return () => readSessionText(sessionService, key);
}

async function createWithId(request: ServerRequest): Promise<Response> {
  const { userId, sessionId } = request.sessionKey();
  const body = await readCreation(request, toCreateBody(await request.json(true)));
  if (body.sessionId !== undefined && body.sessionId !== sessionId) {
    throw new InvalidRequestError(
      `sessionId: the body has ${JSON.stringify(body.sessionId)}, and the path has another id; remove it from the body`,
    );
  }
  const { state, events } = body;
  request.checkStateAccess('state', Object.keys(state ?? {}));
  const runner = request.runner();
  const { server } = request;
  return server.responses.respondToChange(userId, async () =>
    createdText(runner, await createSessionWithEvents(runner, server, { userId, sessionId, state, events })),
  );
}

/** Reads the body of this route: clients of the ADK send the state itself, other clients a body with `state`, `sessionId` or `events`. */
function toCreateBody(body: unknown): unknown {
  if (!isRecord(body)) return body;
  return hasOnlyCreationFields(body) ? body : { state: body };
}

async function list(request: ServerRequest): Promise<Response> {
  const userId = request.userId();
  const { appName, sessionService } = request.runner();
  const listing: ListSessionsRequest = {
    appName,
    userId,
    limit: request.queryInteger('limit'),
    cursor: request.query('cursor'),
  };
  return request.server.responses.respond(userId, async () => {
    const { sessions, nextCursor } = await sessionService.listSessions(listing);
    return { parts: sessionListParts(sessions), headers: cursorHeader(nextCursor) };
  });
}

async function get(request: ServerRequest): Promise<Response> {
  const key = request.sessionKey();
  const config: GetSessionConfig = {
    numRecentEvents: request.queryInteger('numRecentEvents'),
    afterTimestamp: request.queryNumber('afterTimestamp'),
  };
  const { sessionService } = request.runner();
  return respondIfExists(request, 'SESSION_NOT_FOUND', () =>
    request.server.responses.respond(key.userId, () => readSessionText(sessionService, key, config)),
  );
}

async function patch(request: ServerRequest): Promise<Response> {
  const key = request.sessionKey();
  const { stateDelta } = await request.body(PATCH);
  request.checkStateAccess('stateDelta', Object.keys(stateDelta));
  request.quota.count('queued', 1);
  const runner = request.runner();
  return request.server.responses.respondToChange(key.userId, async () => {
    await patchState(runner, key, stateDelta);
    return () => readSessionText(runner.sessionService, key);
  });
}

async function remove(request: ServerRequest): Promise<Response> {
  const key = request.sessionKey();
  const { sessionService, artifactService } = request.runner();
  const { live, runs, webhooks } = request.server;
  await runs.whileDeleting(key, async () => {
    await Promise.all([live?.forgetSession(key), runs.forgetSession(key)]);
    const messages = await webhooks?.claimMessagesOf(request.runner().sessionService, key);
    if (artifactService) await deleteArtifacts(artifactService, key);
    await sessionService.deleteSession(key);
    // A request may have saved one since.
    if (artifactService) await deleteArtifacts(artifactService, key);
    if (messages) webhooks?.sendOnce(messages);
  });
  return jsonResponse(null);
}

/**
 * Deletes the artifacts of a session before the session itself, so that a new session with the same id does not have them. The user's
 * artifacts are kept.
 */
async function deleteArtifacts(artifactService: BaseArtifactService, key: SessionKey): Promise<void> {
  for (const filename of await artifactService.listArtifactKeys(key)) {
    if (!isUserArtifact(filename)) await artifactService.deleteArtifact({ ...key, filename });
  }
}

/** The routes that create, list, read, change and delete sessions. */
export const sessionRoutes: readonly HttpRoute[] = [
  {
    method: 'post',
    path: SESSIONS,
    operationId: 'createSession',
    summary: 'Creates a session, with a generated id if the body has none',
    body: CREATE,
    response: { component: 'Session' },
    errors: [409],
    handle: create,
  },
  {
    method: 'get',
    path: SESSIONS,
    operationId: 'listSessions',
    summary: `The user's sessions, newest first, without their events; the header ${NEXT_CURSOR} is present if there are more`,
    query: {
      limit: { type: 'integer', description: 'Maximum number of sessions, at most 1000. Default 1000.' },
      cursor: `The ${NEXT_CURSOR} of the previous page.`,
    },
    response: { component: 'Session', isList: true },
    errors: [429],
    handle: list,
  },
  {
    method: 'post',
    path: SESSION,
    operationId: 'createSessionWithId',
    summary: 'Creates a session with this id. A body with keys that the schema lacks is the state itself',
    body: CREATE,
    response: { component: 'Session' },
    errors: [409],
    handle: createWithId,
  },
  {
    method: 'get',
    path: SESSION,
    operationId: 'getSession',
    summary: 'A session with its events',
    query: {
      numRecentEvents: { type: 'integer', description: 'Only this number of newest events.' },
      afterTimestamp: { type: 'number', description: 'Only events at or after this time, in seconds.' },
      ifExists: IF_EXISTS,
    },
    response: { component: 'Session' },
    noContent: NO_SESSION,
    errors: [429],
    handle: get,
  },
  {
    method: 'patch',
    path: SESSION,
    operationId: 'patchSession',
    summary: 'Changes the state of a session with an event, once no run holds the session',
    body: PATCH,
    response: { component: 'Session' },
    errors: [409],
    handle: patch,
  },
  {
    method: 'delete',
    path: SESSION,
    operationId: 'deleteSession',
    summary:
      'Ends the runs of a session and deletes it with its artifacts, but keeps those of the user. Succeeds if there is no such session',
    response: { schema: { type: 'null' } },
    errors: [503],
    handle: remove,
  },
];

/** The time that a change of state waits for a run to release the session, in milliseconds. */
const WAIT_MS = 10_000;

/**
 * Changes the state of a session with an event, under a lease like a run's.
 * @throws SessionNotFoundError, SessionBusyError, StateKeyError, StateValueError, SizeLimitError; then nothing is changed
 */
async function patchState(
  { sessionService, platform }: Runner,
  key: SessionKey,
  stateDelta: Readonly<Record<string, unknown>>,
): Promise<void> {
  const checked = checkStateDelta(stateDelta);
  const lease = await sessionService.acquireLease({ ...key, waitMs: WAIT_MS });
  try {
    const session = await readWithoutEvents(sessionService, key);
    if (!session) throw noSessionError(key);
    const event = createEvent({
      id: platform.newEventId(),
      invocationId: `p-${platform.newUuid()}`,
      author: 'user',
      timestamp: platform.now() / 1000,
      actions: { stateDelta: checked },
    });
    await sessionService.appendEvent({ session, event, lease });
  } finally {
    await sessionService.releaseLease(lease);
  }
}
