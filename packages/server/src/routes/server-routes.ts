import type { Platform } from '@eventloom/core';
import { within } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { jsonResponse } from '../http/responses.ts';
import type { ServerRequest } from '../http/server-request.ts';
import type { HttpRoute } from '../http/route.ts';
import type { FrontContext } from '../server-context.ts';

const OK = { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };

const APP = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    rootAgentName: { type: 'string' },
    description: { type: 'string' },
    language: { type: 'string' },
  },
  required: ['name', 'language'],
};
const APPS = {
  anyOf: [
    { type: 'array', items: { type: 'string' } },
    { type: 'object', properties: { apps: { type: 'array', items: APP } }, required: ['apps'] },
  ],
};

/** Returns the apps. A Worker in front of the users' Durable Objects has only their names, and lets an object answer with the details. */
function listApps(request: ServerRequest<FrontContext>): Response {
  const { runners, version } = request.server;
  const names = [...runners.keys()];
  if (request.query('detailed') !== 'true') return jsonResponse(names);
  const apps = names.map((name) => {
    const agent = runners.get?.(name)?.agent;
    const root = agent && { rootAgentName: agent.name, description: agent.description };
    return { name, ...root, language: version.language };
  });
  return jsonResponse({ apps });
}

function okResponse(): Response {
  return jsonResponse({ status: 'ok' });
}

async function readinessResponse({ server }: ServerRequest<FrontContext>): Promise<Response> {
  const isReachable = server.runs.isDraining || (await server.isStorageReachable?.());
  if (isReachable !== false && !server.runs.isDraining) return okResponse();
  const status = server.runs.isDraining ? 'shutting down' : 'storage unavailable';
  return new Response(JSON.stringify({ status }), { status: 503, headers: { 'content-type': 'application/json' } });
}

/** Time limit for an answer of the storage, in milliseconds: probes time out after a few seconds. */
const STORAGE_TIMEOUT_MS = 2000;
/** Time for which a successful check is reused, in milliseconds, so that requests without authentication cause few writes. */
const GOOD_FOR_MS = 1000;

/**
 * Creates the function that lets each session service of the runners write and remove a row, because reads still succeed with a full disk
 * or a read-only database. It resolves to false if a service fails or does not answer in time. Concurrent calls share one check.
 */
export function createStorageProbe(runners: Iterable<Runner>, platform: Platform): () => Promise<boolean> {
  const services = new Set(Array.from(runners, ({ sessionService }) => sessionService));
  const askAll = async (): Promise<boolean> => {
    await Promise.all(Array.from(services, async (service) => service.checkWritable()));
    return true;
  };
  let asking: Promise<boolean> | undefined;
  let goodSinceMs = -Infinity;
  const ask = async (): Promise<boolean> => {
    // Every request that needs the storage reports the failure.
    const asked = askAll().catch(() => false);
    const isGood = (await within(platform, asked, STORAGE_TIMEOUT_MS)) === true;
    if (isGood) goodSinceMs = platform.now();
    asking = undefined;
    return isGood;
  };
  return async () => {
    const ageMs = platform.now() - goodSinceMs;
    return (ageMs >= 0 && ageMs < GOOD_FOR_MS) || (asking ??= ask());
  };
}

/** The routes about the server itself. */
export const serverRoutes: readonly HttpRoute<FrontContext>[] = [
  {
    method: 'get',
    path: '/health',
    operationId: 'health',
    summary: 'Succeeds if the server answers',
    response: { schema: OK },
    isPublic: true,
    handle: okResponse,
  },
  {
    method: 'get',
    path: '/livez',
    operationId: 'livez',
    summary: 'Succeeds if the process is alive',
    response: { schema: OK },
    isPublic: true,
    handle: okResponse,
  },
  {
    method: 'get',
    path: '/readyz',
    operationId: 'readyz',
    summary: 'Succeeds if the server accepts runs; 503 if it is shutting down, or its storage cannot be written',
    response: { schema: OK },
    otherStatuses: {
      503: 'The server is shutting down, or the storage of its sessions does not answer or does not accept writes',
    },
    isPublic: true,
    handle: readinessResponse,
  },
  {
    method: 'get',
    path: '/version',
    operationId: 'version',
    summary: 'The version of the server',
    response: { schema: TEXTS },
    handle: ({ server }) => jsonResponse(server.version),
  },
  {
    method: 'get',
    path: '/list-apps',
    operationId: 'listApps',
    summary: 'The names of the apps',
    query: {
      detailed: '`true` returns `{ apps }` with the root agent and the description of each app, like the ADK.',
    },
    response: { schema: APPS },
    handle: listApps,
  },
];
