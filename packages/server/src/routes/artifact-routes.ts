import { InvalidRequestError, type Part, type SessionKey } from '@eventloom/core';
import { isUserArtifact, readWithoutEvents } from '@eventloom/core/internal';
import { readSaveArtifactRequest } from '@eventloom/core/wire';
import { ArtifactNotFoundError } from '../errors.ts';
import { type ServerRequest, parseCount } from '../http/server-request.ts';
import { jsonResponse } from '../http/responses.ts';
import { quotedName } from '../http/request-body.ts';
import type { BodySpec, HttpRoute } from '../http/route.ts';
import { noSessionError } from '../http/session-text.ts';

const ARTIFACTS = '/apps/{appName}/users/{userId}/sessions/{sessionId}/artifacts';
const ARTIFACT = `${ARTIFACTS}/{filename}`;
const SAVE = { component: 'SaveArtifactBody', read: readSaveArtifactRequest } satisfies BodySpec;

async function list(request: ServerRequest): Promise<Response> {
  const key = await existingSession(request);
  return jsonResponse((await request.runner().artifactService?.listArtifactKeys(key)) ?? []);
}

function load(request: ServerRequest): Promise<Response> {
  return partResponse(request, request.queryInteger('version'));
}

function loadVersion(request: ServerRequest): Promise<Response> {
  return partResponse(request, parseCount('version', request.param('version')));
}

async function listVersions(request: ServerRequest): Promise<Response> {
  const key = await existingSession(request);
  const filename = request.param('filename');
  return jsonResponse((await request.runner().artifactService?.listVersions({ ...key, filename })) ?? []);
}

async function remove(request: ServerRequest): Promise<Response> {
  const key = await existingSession(request);
  await request.runner().artifactService?.deleteArtifact({ ...key, filename: request.param('filename') });
  return jsonResponse(null);
}

async function save(request: ServerRequest): Promise<Response> {
  const key = await existingSession(request);
  const { filename, artifact, customMetadata } = await request.body(SAVE);
  const { artifactService } = request.runner();
  if (!artifactService)
    throw new InvalidRequestError(
      `artifacts: app ${JSON.stringify(key.appName)} keeps none; give its Runner an artifactService`,
    );
  const version = await artifactService.saveArtifact({ ...key, filename, artifact, customMetadata });
  const saved = await artifactService.getArtifactVersion({ ...key, filename, version });
  try {
    await existingSession(request);
  } catch (error) {
    // The session was deleted meanwhile, and a new one with its id would have the artifact.
    if (!isUserArtifact(filename)) await artifactService.deleteArtifact({ ...key, filename });
    throw error;
  }
  if (!saved) throw new ArtifactNotFoundError(`artifact ${quotedName(filename)} was deleted while it was saved`);
  return jsonResponse(saved);
}

function partResponse(request: ServerRequest, version: number | undefined): Promise<Response> {
  const { userId } = request.sessionKey();
  return request.server.responses.respond(userId, async () => ({
    parts: [JSON.stringify(await loadPart(request, version))],
  }));
}

async function loadPart(request: ServerRequest, version: number | undefined): Promise<Part> {
  const key = await existingSession(request);
  const filename = request.param('filename');
  const part = await request.runner().artifactService?.loadArtifact({ ...key, filename, version });
  if (part) return part;
  const which = version === undefined ? 'no artifact' : `no version ${version} of`;
  throw new ArtifactNotFoundError(`session ${JSON.stringify(key.sessionId)} has ${which} ${quotedName(filename)}`);
}

/** @throws SessionNotFoundError if the session of the artifacts does not exist */
async function existingSession(request: ServerRequest): Promise<SessionKey> {
  const key = request.sessionKey();
  const session = await readWithoutEvents(request.runner().sessionService, key);
  if (!session) throw noSessionError(key);
  return key;
}

/** The routes for the files of a session and their versions. A slash in a name is written as `%2F`. */
export const artifactRoutes: readonly HttpRoute[] = [
  {
    method: 'get',
    path: ARTIFACTS,
    operationId: 'listArtifacts',
    summary: 'The names of the artifacts that the session can load',
    response: { schema: { type: 'array', items: { type: 'string' } } },
    handle: list,
  },
  {
    method: 'post',
    path: ARTIFACTS,
    operationId: 'saveArtifact',
    summary: 'Saves a part with inlineData, fileData or text as the next version of an artifact',
    body: SAVE,
    response: { component: 'ArtifactVersion' },
    handle: save,
  },
  {
    method: 'get',
    path: ARTIFACT,
    operationId: 'loadArtifact',
    summary: 'An artifact as a part, in its latest or the requested version',
    query: { version: { type: 'integer', description: 'The version. Default: the latest.' } },
    response: { component: 'Part' },
    errors: [429],
    handle: load,
  },
  {
    method: 'delete',
    path: ARTIFACT,
    operationId: 'deleteArtifact',
    summary: 'Deletes all versions of an artifact. Succeeds if there are none',
    response: { schema: { type: 'null' } },
    handle: remove,
  },
  {
    method: 'get',
    path: `${ARTIFACT}/versions`,
    operationId: 'listArtifactVersions',
    summary: 'The versions of an artifact, ascending; empty if it does not exist',
    response: { schema: { type: 'array', items: { type: 'integer' } } },
    handle: listVersions,
  },
  {
    method: 'get',
    path: `${ARTIFACT}/versions/{version}`,
    operationId: 'loadArtifactVersion',
    summary: 'One version of an artifact, as a part',
    response: { component: 'Part' },
    errors: [429],
    handle: loadVersion,
  },
];
