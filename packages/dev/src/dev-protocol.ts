import { type Event, getFunctionCalls, getFunctionResponses, type SessionKey } from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import type { CommonRequest, CommonRoute, Protocol, ProtocolRequest, ProtocolRoute, RunOwner } from '@eventloom/server';
import { type AdkSpan, toAdkSpans } from './adk-spans.ts';
import { type AppNode, describeNode, drawNode, nodeAt } from './describe-app.ts';
import { type SpanStore, withoutContent } from './span-store.ts';

/** Returns a file of a page, such as `index.html`; undefined if the page has no file of that name. */
export type UiFiles = (path: string) => Promise<Uint8Array<ArrayBuffer> | undefined>;

/** Options of `dev`. */
export interface DevOptions {
  /** The spans that the traces show: the `instrumentation` of the runners. Default: there are no traces. */
  readonly spans?: SpanStore | undefined;
  /** The files of a copy of adk-web, served at `/dev-ui`: `await uiFiles(folder)` of `@eventloom/dev/node`. Default: no page. */
  readonly ui?: UiFiles | undefined;
}

const OPTIONS: OptionRules<DevOptions> = { spans: 'object or function', ui: 'function' };

const APP = '/dev/apps/{appName}';
const SESSION = `${APP}/users/{userId}/sessions/{sessionId}`;
const ANY = { type: 'object' };
const NAMES = { type: 'array', items: { type: 'string' } };

/**
 * Creates the protocol with the routes for developers that the ADK's page adk-web calls beside the ADK's own: the graph of an app,
 * traces, and empty lists for its requests about evaluations and tests, which are not supported. `GET
 * /dev/apps/{app}/users/{user}/sessions/{session}/spans` returns the stored spans.
 *
 * Every route acts for one user: the authenticated one; without `authenticate` the one in `user_id` or in the address of adk-web, and
 * otherwise `user`, as adk-web calls it. A user gets no spans of others.
 * @throws ConfigurationError for an unknown option or one of the wrong kind
 */
export function dev(options: DevOptions = {}): Protocol {
  checkOptions('dev', OPTIONS, options);
  const { spans, ui } = options;
  return {
    name: 'dev',
    routes: [...graphRoutes(), ...traceRoutes(spans), ...absentRoutes()],
    commonRoutes: [...absentCommonRoutes(), ...(ui ? pageRoutes(ui) : [])],
  };
}

/** Returns the user and app of a request whose path names no user. */
function ownerOf(request: CommonRequest): RunOwner {
  const referrer = request.raw.headers.get('referer');
  const shown = referrer !== null && URL.canParse(referrer) ? new URL(referrer).searchParams.get('userId') : undefined;
  const userId = request.user?.userId ?? request.query('user_id') ?? (shown || 'user');
  return { appName: request.param('appName'), userId };
}

type Handle = (request: ProtocolRequest, owner: RunOwner) => Promise<Response> | Response;

/** Creates a route of an app, for the user of the request. */
function route(path: string, operationId: string, summary: string, schema: object, handle: Handle): ProtocolRoute {
  const isOwned = path.includes('{userId}');
  const owner = (request: CommonRequest): RunOwner =>
    isOwned ? { appName: request.param('appName'), userId: request.param('userId') } : ownerOf(request);
  return {
    method: 'get',
    path,
    operationId,
    summary,
    response: { schema },
    errors: [404],
    ...(isOwned ? {} : { owner }),
    handle: (request) => {
      const own = owner(request);
      request.requireSameUser(own.userId);
      return handle(request, own);
    },
  };
}

function graphRoutes(): ProtocolRoute[] {
  const drawEvent: Handle = async (request, { appName, userId }) => {
    const key = { appName, userId, sessionId: request.param('sessionId') };
    const session = await request.sessions(appName).getSession(key);
    const event = session?.events.find(({ id }) => id === request.param('eventId'));
    if (!event) return notFound('the session has no such event');
    const node = describeNode(request.agent(appName));
    return Response.json({ dotSrc: drawNode(node, request.query('dark_mode') === 'true', usedIn(event)) });
  };
  const summary = 'The agents of an app as text in the DOT language, with those that an event used in color';
  return [
    route(
      `${APP}/build_graph`,
      'devBuildGraph',
      'The agents, tools and graphs of an app',
      ANY,
      (request, { appName }) => Response.json({ name: appName, root_agent: describeNode(request.agent(appName)) }),
    ),
    route(
      `${APP}/build_graph_image`,
      'devBuildGraphImage',
      'The agents, tools and graphs of an app as text in the DOT language; each graph under its path',
      ANY,
      (request, { appName }) => {
        const isDark = request.query('dark_mode') === 'true';
        const path = request.query('node') ?? '';
        const root = nodeAt(describeNode(request.agent(appName)), path);
        if (!root) return notFound('the app has no such node');
        const drawn: Record<string, { readonly dotSrc: string }> = { [path]: { dotSrc: drawNode(root, isDark) } };
        for (const [below, node] of graphsBelow(root, path)) drawn[below] = { dotSrc: drawNode(node, isDark) };
        return Response.json({ ...drawn, dotSrc: drawn[path]?.dotSrc });
      },
    ),
    route(`${SESSION}/events/{eventId}/graph`, 'devEventGraph', summary, ANY, drawEvent),
    // The path that older versions of adk-web request.
    route(
      '/apps/{appName}/users/{userId}/sessions/{sessionId}/events/{eventId}/graph',
      'devEventGraphBefore',
      summary,
      ANY,
      drawEvent,
    ),
  ];
}

/** The graphs below a node, each with its path. */
function graphsBelow(node: AppNode, path: string): (readonly [string, AppNode])[] {
  return [...(node.graph?.nodes ?? []), ...(node.sub_agents ?? [])].flatMap((each) => {
    const below = path === '' ? each.name : `${path}/${each.name}`;
    return [...(each.graph ? [[below, each] as const] : []), ...graphsBelow(each, below)];
  });
}

function usedIn(event: Event): ReadonlySet<string> {
  const called = [...getFunctionCalls(event), ...getFunctionResponses(event)].flatMap(({ name }) => name ?? []);
  return new Set([event.author, ...called]);
}

function traceRoutes(spans: SpanStore | undefined): ProtocolRoute[] {
  const traceOf = async (request: ProtocolRequest, key: SessionKey): Promise<AdkSpan[]> => {
    const found = spans?.list(key) ?? [];
    if (found.length === 0) return [];
    const session = await request.sessions(key.appName).getSession(key);
    return toAdkSpans(found, session?.events ?? []);
  };
  return [
    route(
      `${APP}/debug/trace/session/{sessionId}`,
      'devSessionTrace',
      'The spans of a session as the ADK has them; times are nanoseconds',
      { type: 'array', items: ANY },
      async (request, owner) =>
        Response.json(await traceOf(request, { ...owner, sessionId: request.param('sessionId') })),
    ),
    route(
      `${APP}/debug/trace/{eventId}`,
      'devEventTrace',
      'The attributes of the span whose result an event holds',
      ANY,
      async (request, owner) => {
        const eventId = request.param('eventId');
        for (const key of spans?.sessionsOf(owner) ?? []) {
          const trace = await traceOf(request, key);
          const span = trace.find(({ attributes }) => attributes['gcp.vertex.agent.event_id'] === eventId);
          if (span) return Response.json({ ...span.attributes, trace_id: span.trace_id, span_id: span.span_id });
        }
        return notFound('no span has this event: it is older than the kept spans, or no result of a call');
      },
    ),
    {
      ...route(
        `${SESSION}/spans`,
        'devSessionSpans',
        'The spans of a session in the order in which they started; times are milliseconds',
        { type: 'array', items: ANY },
        (request, owner) => {
          const all = spans?.list({ ...owner, sessionId: request.param('sessionId') }) ?? [];
          const only = request.query('spanId');
          const found = only === undefined ? all : all.filter(({ spanId }) => spanId === only);
          return Response.json(request.query('content') === 'false' ? found.map(withoutContent) : found);
        },
      ),
      query: {
        content: '`false` leaves out messages, arguments and results',
        spanId: 'Id of the only span to return. Default: all spans',
      },
    },
  ];
}

function refuse(): Response {
  const error = 'this server keeps no evaluations, tests, agent files and choices for adk-web';
  return Response.json({ error, code: 'NOT_SUPPORTED' }, { status: 501 });
}

/** Routes of adk-web for features that this server does not have: lists are empty, and everything else is refused. */
function absentRoutes(): ProtocolRoute[] {
  const empty = (path: string, operationId: string, schema: object, body: unknown): ProtocolRoute =>
    route(`${APP}/${path}`, operationId, 'Empty: for adk-web', schema, () => Response.json(body));
  const refused = (method: 'get' | 'post' | 'delete', path: string, operationId: string): ProtocolRoute => ({
    ...route(`${APP}/${path}`, operationId, 'Refused: for adk-web', ANY, refuse),
    method,
  });
  return [
    empty('eval_sets', 'devEvalSets', NAMES, []),
    empty('eval-sets', 'devListEvalSets', ANY, { evalSetIds: [] }),
    empty('eval_results', 'devEvalResults', NAMES, []),
    empty('metrics-info', 'devMetricsInfo', ANY, { metricsInfo: [] }),
    empty('eval_sets/{evalSetId}/evals', 'devEvalCases', NAMES, []),
    empty('tests', 'devTests', NAMES, []),
    {
      ...empty('builder', 'devBuilder', ANY, ''),
      response: { contentType: 'text/plain' },
      // No agent of this server is defined in YAML.
      handle: () => new Response('', { headers: { 'content-type': 'text/plain; charset=utf-8' } }),
    },
    refused('post', 'eval-sets', 'devCreateEvalSet'),
    refused('get', 'eval-sets/{evalSetId}', 'devEvalSet'),
    refused('delete', 'eval-sets/{evalSetId}', 'devRemoveEvalSet'),
    refused('post', 'eval-sets/{evalSetId}/run', 'devRunEvalSet'),
    refused('post', 'eval_sets/{evalSetId}', 'devPutEvalSet'),
    refused('post', 'eval_sets/{evalSetId}/add_session', 'devAddSession'),
    refused('post', 'eval_sets/{evalSetId}/run_eval', 'devRunEval'),
    refused('delete', 'eval_sets/{evalSetId}', 'devDeleteEvalSet'),
    refused('get', 'eval_sets/{evalSetId}/evals/{evalCaseId}', 'devEvalCase'),
    refused('delete', 'eval_sets/{evalSetId}/evals/{evalCaseId}', 'devDeleteEvalCase'),
    refused('get', 'eval_results/{evalResultId}', 'devEvalResult'),
    refused('get', 'tests/{testName}', 'devTest'),
    refused('delete', 'tests/{testName}', 'devDeleteTest'),
    refused('post', 'tests/run', 'devRunTests'),
    refused('post', 'tests/rebuild', 'devRebuildTests'),
    refused('post', 'tests/{testName}', 'devCreateTest'),
    refused('post', 'builder/save', 'devSaveAgent'),
    refused('post', 'builder/cancel', 'devCancelAgent'),
  ];
}

/** Routes of adk-web that name no app: whether it may report how it is used, and logins of Google Cloud. */
function absentCommonRoutes(): CommonRoute[] {
  const refused = {
    method: 'post',
    summary: 'Refused: for adk-web',
    response: { schema: ANY },
    handle: refuse,
  } as const;
  return [
    {
      method: 'get',
      path: '/config/telemetry',
      operationId: 'devTelemetry',
      summary: 'False: adk-web does not report how it is used',
      response: { schema: ANY },
      handle: () => Response.json({ telemetry: false }),
    },
    { ...refused, path: '/config/telemetry', operationId: 'devSetTelemetry' },
    { ...refused, path: '/agent-identity/finalize', operationId: 'devFinalizeIdentity' },
  ];
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  wasm: 'application/wasm',
  woff2: 'font/woff2',
  map: 'application/json; charset=utf-8',
};

const PAGE_HEADERS = {
  'x-content-type-options': 'nosniff',
  // The routes read the user from the address of the page, which the referrer holds.
  'referrer-policy': 'same-origin',
  'content-security-policy': "frame-ancestors 'none'; base-uri 'self'; form-action 'none'",
};

/** A file whose name holds a hash of its content, such as `main-56POKOKQ.js`. It may be cached for ever. */
const HASHED = /-[A-Z\d]{8}\.[a-z\d]+$/;

function pageRoutes(ui: UiFiles): NonNullable<Protocol['commonRoutes']> {
  const page = { method: 'get', response: { contentType: 'text/html' }, isPublic: true } as const;
  const file = async (path: string): Promise<Response> => {
    const [, extension = ''] = /\.([a-z\d]+)$/.exec(path) ?? [];
    const type = Object.hasOwn(TYPES, extension) ? TYPES[extension] : undefined;
    const bytes = type === undefined ? undefined : await ui(path);
    const caching = HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache';
    return bytes
      ? new Response(bytes, { headers: { ...PAGE_HEADERS, 'content-type': type ?? '', 'cache-control': caching } })
      : notFound(`the page has no file ${JSON.stringify(path)}`);
  };
  return [
    {
      ...page,
      path: '/dev-ui',
      operationId: 'openDevUi',
      summary: 'Redirects to adk-web',
      handle: ({ raw }) => redirect(raw, 'dev-ui/'),
    },
    {
      ...page,
      path: '/dev-ui/',
      operationId: 'devUiPage',
      summary: 'The page of adk-web',
      handle: () => file('index.html'),
    },
    {
      ...page,
      path: '/dev-ui/{path+}',
      operationId: 'devUiFile',
      summary: 'A file of adk-web',
      handle: (request) => {
        const path = request.param('path');
        // adk-web drops the query of every address except that of its folder.
        if (path === 'index.html') return redirect(request.raw, './');
        // The page reads the address of its server here.
        if (path === 'assets/config/runtime-config.json')
          return Response.json({ backendUrl: '' }, { headers: PAGE_HEADERS });
        return file(path);
      },
    },
  ];
}

/** Redirects to a relative address, which is correct behind a path prefix too. */
function redirect({ url }: Request, address: string): Response {
  return new Response(null, { status: 302, headers: { location: address + new URL(url).search } });
}

function notFound(error: string): Response {
  return Response.json({ error, code: 'NOT_FOUND' }, { status: 404 });
}
