import { type WireSchema, wireSchemas } from '@eventloom/core/wire';
import { errorStatus } from '../http/error-response.ts';
import type { CountLimits } from '../http/request-body.ts';
import { jsonTextResponse } from '../http/responses.ts';
import type { ResponseSpec, BodySpec, ComponentName, QuerySpec, RouteSpec, HttpRoute } from '../http/route.ts';
import type { FrontContext } from '../server-context.ts';

/** Error statuses of every route. Routes that are not public also have 401. */
const COMMON_ERRORS = [400, 403, 405, 500];

/** Codes of errors of every route. */
const COMMON_CODES = [
  'INVALID_REQUEST',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'METHOD_NOT_ALLOWED',
  'RATE_LIMITED',
  'INTERNAL',
];
/** Header of a retryable error. */
const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds until the request can be sent again.', schema: { type: 'integer' } },
};

const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'The request is malformed; the message says what is wrong and where',
  401: 'The request has no valid credentials',
  403: 'The request names another user, writes state that its user may not write, or comes from an origin that is not allowed',
  404: 'The app, session, run, artifact or address does not exist',
  405: 'The address does not accept this method; the header Allow lists the accepted methods',
  409: 'The session already exists or is busy, the run was aborted or continues, the request was already sent, or its response has no room',
  410: 'The requested events are no longer kept, or the process that ran the run has ended',
  413: 'The body is too large, or has too many entries; the message says where',
  422: 'The agent needs state that the session does not have, or the requestId belongs to another message',
  426: 'The address is for WebSockets, and the request does not ask for one',
  429: 'The user has reached a limit of concurrent work, or the run its maximum of readers; try again',
  500: 'The server or an agent failed',
  502: 'The model failed',
  503: 'The server is full or shutting down, or cannot ask the process that has the run; try again',
};

/** Returns the OpenAPI 3.1 document of a server: its routes, and the schemas of their requests and responses. */
function openApiDocument(
  routes: readonly RouteSpec[],
  version: string,
  { limits, basePath }: Pick<FrontContext, 'limits' | 'basePath'>,
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    // OpenAPI has no parameters of several segments.
    const path = route.path.replace('+}', '}');
    (paths[path] ??= {})[route.method] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Eventloom', version, description: 'Runs agents in sessions and streams their events.' },
    ...(basePath !== '' && { servers: [{ url: basePath }] }),
    paths,
    components: { schemas: componentSchemas(limits) },
  };
}

function operation(route: RouteSpec): object {
  const {
    operationId,
    summary,
    path,
    query,
    headers,
    body,
    bodySchema,
    response,
    noContent,
    otherStatuses = {},
  } = route;
  const parameters = [
    ...Array.from(path.matchAll(/\{(\w+)\+?\}/g), ([, name = '']) => parameter('path', name)),
    ...Object.entries(query ?? {}).map(([name, description]) => parameter('query', name, description)),
    ...Object.entries(headers ?? {}).map(([name, description]) => parameter('header', name, description)),
  ];
  return {
    operationId,
    summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: requestBody(body) } : {}),
    ...(bodySchema ? { requestBody: { required: true, content: json(bodySchema) } } : {}),
    responses: {
      ...success(route),
      ...(noContent === undefined ? {} : { 204: { description: noContent } }),
      ...Object.fromEntries(errorStatuses(route).map((status) => [status, errorResponseSpec(status, route.codes)])),
      ...Object.fromEntries(
        Object.entries(otherStatuses).map(([status, description]) => [
          status,
          { description, content: responseContent(response) },
        ]),
      ),
    },
  };
}

function success({ response, status = 200, asJson, responseHeaders }: RouteSpec): object {
  if (!('webSocket' in response)) {
    const content = { ...responseContent(response), ...(asJson ? json(asJson) : {}) };
    const named = Object.entries(responseHeaders ?? {});
    const headers = Object.fromEntries(
      named.map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
    );
    const description = status === 202 ? 'Accepted' : 'OK';
    return { [status]: { description, ...(named.length > 0 ? { headers } : {}), content } };
  }
  return {
    101: { description: `A WebSocket: each text frame is JSON, the schema ${response.webSocket} or ErrorBody.` },
  };
}

function errorStatuses({ isPublic = false, path, body, bodySchema, errors = [], codes = [] }: RouteSpec): number[] {
  const hasBody = body !== undefined || bodySchema !== undefined;
  const namesSomething = path.includes('{') || hasBody;
  const statuses = [
    ...COMMON_ERRORS,
    ...(isPublic ? [] : [401]),
    ...(namesSomething ? [404] : []),
    ...(hasBody ? [413, 429] : []),
    // Routes of a user need the storage.
    ...(hasBody || path.includes('{userId}') ? [503] : []),
    ...errors,
    ...codes.map(errorStatus),
  ];
  return [...new Set(statuses)].toSorted((a, b) => a - b);
}

function parameter(place: 'path' | 'query' | 'header', name: string, spec: QuerySpec = ''): object {
  const { type, description } = typeof spec === 'string' ? { type: 'string', description: spec } : spec;
  const schema = type === 'string' ? { type } : { type, minimum: 0 };
  return { name, in: place, required: place === 'path', ...(description === '' ? {} : { description }), schema };
}

function requestBody({ component, isOptional = false }: BodySpec): object {
  return { required: !isOptional, content: json(reference(component)) };
}

function responseContent(response: ResponseSpec): object {
  if ('webSocket' in response) return {};
  if ('stream' in response) {
    return {
      'text/event-stream': {
        schema: {
          type: 'string',
          description: `Each data line is JSON: the schema ${response.stream}, or ErrorBody on the last line of a run that failed.`,
        },
      },
    };
  }
  if ('contentType' in response) return { [response.contentType]: {} };
  if ('schema' in response) return json(response.schema);
  const item = reference(response.component);
  return json(response.isList ? { type: 'array', items: item } : item);
}

function errorResponseSpec(status: number, codes: readonly string[] | undefined): object {
  const text = STATUS_TEXTS[status] ?? 'The request failed';
  const own = codes && [...COMMON_CODES, ...codes].filter((code) => errorStatus(code) === status);
  return {
    description: own && own.length > 0 ? `${text}. Codes: ${own.join(', ')}` : text,
    ...([409, 429, 503].includes(status) ? { headers: RETRY_AFTER } : {}),
    content: json(reference('ErrorBody')),
  };
}

function reference(component: ComponentName): object {
  return { $ref: `#/components/schemas/${component}` };
}

function json(schema: object): object {
  return { 'application/json': { schema } };
}

type Schema = Readonly<Record<string, unknown>>;

/**
 * Returns the schemas of the document. Those of responses are from core; those of requests differ, because requests may
 * omit fields of an event or use another spelling.
 */
function componentSchemas({ maxBodyParts, maxBodyEvents, maxBodyKeys }: CountLimits): Record<string, object> {
  const schemas = wireSchemas();
  const { Content, CreateSessionBody, Event, EventActions, PatchSessionBody, RunBody } = schemas;
  const contentInput = { $ref: '#/components/schemas/ContentInput' };
  const keysOf = (schema: WireSchema, key: string): Schema => ({
    [key]: { ...schema.properties?.[key], maxProperties: maxBodyKeys },
  });
  return {
    ...schemas,
    ContentInput: withProperties(Content, { parts: { ...Content.properties?.['parts'], maxItems: maxBodyParts } }),
    EventActionsInput: withProperties(inputOf(EventActions, [], 'Omitted deltas are empty.'), {
      ...keysOf(EventActions, 'stateDelta'),
      removedState: { ...EventActions.properties?.['removedState'], maxItems: maxBodyKeys },
    }),
    EventInput: withProperties(inputOf(Event, ['author'], INPUT), {
      id: { type: 'string', description: 'Made up when it is left out.' },
      invocationId: { type: 'string', description: 'Made up when it is left out.' },
      author: { type: 'string', minLength: 1, description: "`user`, or the agent's name." },
      timestamp: {
        anyOf: [{ type: 'number' }, { type: 'string', format: 'date-time' }],
        description: 'Seconds since the epoch, or RFC 3339. Default: the current time.',
      },
      actions: { $ref: '#/components/schemas/EventActionsInput' },
      content: contentInput,
      ...keysOf(Event, 'customMetadata'),
      partial: { const: false, description: 'Chunks are not stored.' },
    }),
    CreateSessionBody: withProperties(CreateSessionBody, {
      ...keysOf(CreateSessionBody, 'state'),
      events: { type: 'array', items: { $ref: '#/components/schemas/EventInput' }, maxItems: maxBodyEvents },
    }),
    PatchSessionBody: withProperties(PatchSessionBody, keysOf(PatchSessionBody, 'stateDelta')),
    RunBody: withProperties(RunBody, {
      newMessage: contentInput,
      ...keysOf(RunBody, 'stateDelta'),
      ...keysOf(RunBody, 'customMetadata'),
    }),
  };
}

const INPUT = 'An event in a request. Keys may also be in snake case, and null counts as absent. Author is required.';

function inputOf(schema: object, required: readonly string[], description: string): Schema {
  return { ...schema, required, description };
}

function withProperties(schema: object, properties: Schema): Schema {
  const own = 'properties' in schema && typeof schema.properties === 'object' ? schema.properties : {};
  return { ...schema, properties: { ...own, ...properties } };
}

export const OPEN_API_PATH = '/openapi.json';

/** Creates the route of the OpenAPI document, which describes these routes and itself. The document is built at the first request. */
export function openApiRoute(
  routes: readonly RouteSpec[],
  version: string,
  server: Pick<FrontContext, 'limits' | 'basePath'>,
): HttpRoute<FrontContext> {
  let text: string | undefined;
  const route: HttpRoute<FrontContext> = {
    method: 'get',
    path: OPEN_API_PATH,
    operationId: 'openApi',
    summary: 'This document',
    response: { schema: { type: 'object' } },
    handle: () => jsonTextResponse((text ??= JSON.stringify(openApiDocument([...routes, route], version, server)))),
  };
  return route;
}
