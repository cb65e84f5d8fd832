import { jsonResponse } from '../http/responses.ts';
import type { Call } from '../http/call.ts';
import type { Route } from '../http/route.ts';
import type { FrontContext } from '../server-context.ts';

const OK = { type: 'object', properties: { status: { type: 'string' } }, required: ['status'] };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };

function answerOk(): Response {
  return jsonResponse({ status: 'ok' });
}

function answerReadiness({ server }: Call<FrontContext>): Response {
  if (!server.runs.isDraining) return answerOk();
  return new Response(JSON.stringify({ status: 'shutting down' }), {
    status: 503,
    headers: { 'content-type': 'application/json' },
  });
}

/** What a server says about itself. */
export const serverRoutes: readonly Route<FrontContext>[] = [
  {
    method: 'get',
    path: '/health',
    operationId: 'health',
    summary: 'Says that the server answers',
    answer: { schema: OK },
    isPublic: true,
    handle: answerOk,
  },
  {
    method: 'get',
    path: '/livez',
    operationId: 'livez',
    summary: 'Says that the process lives',
    answer: { schema: OK },
    isPublic: true,
    handle: answerOk,
  },
  {
    method: 'get',
    path: '/readyz',
    operationId: 'readyz',
    summary: 'Says whether the server takes runs; 503 when it is shutting down',
    answer: { schema: OK },
    alsoAnswers: { 503: 'The server is shutting down' },
    isPublic: true,
    handle: answerReadiness,
  },
  {
    method: 'get',
    path: '/version',
    operationId: 'version',
    summary: 'The version of the server',
    answer: { schema: TEXTS },
    handle: ({ server }) => jsonResponse(server.version),
  },
  {
    method: 'get',
    path: '/list-apps',
    operationId: 'listApps',
    summary: 'The names of the apps',
    answer: { schema: { type: 'array', items: { type: 'string' } } },
    handle: ({ server }) => jsonResponse([...server.runners.keys()]),
  },
];
