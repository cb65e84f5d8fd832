import { type BaseSessionService, ConfigurationError, InvalidRequestError, type SessionKey } from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules } from '@eventloom/core/internal';
import type { Protocol, ProtocolRequest } from '@eventloom/server';
import { canSpeak, describeAgent } from './describe-agent.ts';
import { LISTED_SESSIONS_SCHEMA, searchSessions } from './search-sessions.ts';
import { listOpenRuns, listWaitingRuns, OPEN_RUNS_SCHEMA, WAITING_RUNS_SCHEMA } from './user-runs.ts';

/** Returns a file of the page, such as `index.html` or `assets/index-1a2b.js`; undefined if the page has no file of that name. */
export type StudioFiles = (path: string) => StudioFile | undefined | Promise<StudioFile | undefined>;

/** The bytes of a file. */
type StudioFile = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** The method of a Worker's static assets binding that is used. */
export interface AssetBinding {
  fetch(address: string): Promise<Response>;
}

/** Options of `studio`. */
export interface StudioOptions {
  /** Reads the files of the page: `studioFiles()` of `@eventloom/studio/node` on Node, `assetFiles` on Workers. */
  readonly files: StudioFiles;
  /**
   * Messages that the page offers in a session until the user writes another one, by app. Default: a question about the
   * agent's abilities, in an empty session.
   */
  readonly prompts?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Prices of a million tokens by the `modelVersion` of replies, from which the page computes costs. Default: no costs. */
  readonly prices?: Readonly<Record<string, TokenPrice>> | undefined;
  /** Currency of the prices, as its code of three letters. Default `USD`. */
  readonly currency?: string | undefined;
}

/** Prices of a million tokens, in the option `currency`. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  /** Price of input tokens that the service read from its cache. Default: `input`. */
  readonly cachedInput?: number | undefined;
}

const OPTIONS: OptionRules<StudioOptions> = {
  // Checked below, with an error that names the functions for both runtimes.
  files: 'any',
  prompts: { is: 'object', write: "{ weather: ['Will it rain in Rome?'] }" },
  prices: { is: 'object', write: "{ 'gemini-flash-latest': { input: 0.3, output: 2.5 } }" },
  currency: 'text',
};
const EXAMPLE = 'studio({ files: studioFiles() }) on Node, studio({ files: assetFiles(env.ASSETS) }) on Workers';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/**
 * Returns the security headers: the page may run only its own scripts, and connect only to its own server. Files of agents are shown from
 * `data:` and `blob:` addresses.
 */
function securityHeaders({ url }: Request): Record<string, string> {
  // Older browsers do not count WebSockets of the page's origin as 'self'. The host of a URL cannot contain a character that ends a
  // directive.
  const { host } = new URL(url);
  return {
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `connect-src 'self' ws://${host} wss://${host}`,
      "img-src 'self' data: blob:",
      'media-src data: blob:',
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}

const AGENT_SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, kind: { type: 'string' }, description: { type: 'string' } },
  required: ['name', 'kind', 'description'],
};

const CALLER_SCHEMA = {
  type: 'object',
  properties: {
    userId: { type: 'string', description: 'Absent if the server has no login: a request may then name any user.' },
  },
};

/**
 * Creates the protocol that serves Studio at `/studio/`, for `createServer({ protocols: [studio({ files })] })`. The page uses the other
 * routes of the server, behind the same login.
 * @throws ConfigurationError without `files`, and for an unknown or invalid option
 *
 * @example
 * import { createServer } from '@eventloom/server';
 * import { studioFiles } from '@eventloom/studio/node';
 *
 * const server = createServer({ runners: [runner], protocols: [studio({ files: studioFiles() })] });
 */
export function studio(options: StudioOptions): Protocol {
  checkOptions('studio', OPTIONS, options, undefined, EXAMPLE);
  const { files, prompts = {}, prices = {}, currency = 'USD' } = options;
  if (typeof files !== 'function')
    throw new ConfigurationError(`studio: files: expected a function, got ${describeKind(files)}; write ${EXAMPLE}`);
  if (!/^[A-Z]{3}$/.test(currency))
    throw new ConfigurationError(
      `studio: currency: expected a code of three letters, got ${JSON.stringify(currency)}; write currency: 'EUR'`,
    );
  const page = { method: 'get', response: { contentType: 'text/html' }, isPublic: true } as const;
  return {
    name: 'studio',
    commonRoutes: [
      {
        ...page,
        path: '/',
        operationId: 'openServer',
        summary: 'Redirects a browser to the page for developers, and names the routes to other clients',
        handle: ({ raw }) =>
          raw.headers.get('accept')?.includes('text/html')
            ? redirect(raw, 'studio/')
            : Response.json({ name: 'eventloom', studio: '/studio/', routes: '/openapi.json' }),
      },
      {
        ...page,
        path: '/studio',
        operationId: 'openStudio',
        summary: 'Redirects to the page for developers',
        handle: ({ raw }) => redirect(raw, 'studio/'),
      },
      {
        method: 'get',
        path: '/studio-api/caller',
        operationId: 'describeCaller',
        summary: 'The authenticated user of the request',
        response: { schema: CALLER_SCHEMA },
        handle: ({ user }) => Response.json({ userId: user?.userId }),
      },
      {
        ...page,
        path: '/studio/',
        operationId: 'studioPage',
        summary: 'The page for developers',
        handle: ({ raw }) => serveFile('index.html', files, raw),
      },
      {
        ...page,
        path: '/studio/{path+}',
        operationId: 'studioFile',
        summary: 'A file of the page for developers',
        handle: (request) => serveFile(request.param('path'), files, request.raw),
      },
    ],
    routes: [
      {
        method: 'get',
        path: '/studio-api/apps/{appName}/users/{userId}/agent',
        operationId: 'describeAgent',
        summary: 'The root agent of an app with its model, tools, sub-agents and called agents',
        response: { schema: AGENT_SCHEMA },
        handle: (request: ProtocolRequest) => {
          request.requireSameUser(request.param('userId'));
          const appName = request.param('appName');
          const agent = request.agent(appName);
          return Response.json({
            ...describeAgent(agent),
            prompts: prompts[appName] ?? [],
            prices,
            currency,
            canSpeak: canSpeak(agent),
          });
        },
      },
      {
        method: 'get',
        path: '/studio-api/apps/{appName}/users/{userId}/sessions',
        operationId: 'searchSessions',
        summary:
          'The sessions of a user with their first messages, latest first; with `search` only those that contain a word',
        query: {
          search:
            'A word of the id, of the day in UTC (`2026-11-23`), or of the newest 200 events: messages, calls and results.',
          cursor: 'The `nextCursor` of the previous page. A page may be empty although more follow.',
        },
        response: { schema: LISTED_SESSIONS_SCHEMA },
        handle: async (request: ProtocolRequest) => {
          const user = { appName: request.param('appName'), userId: request.param('userId') };
          request.requireSameUser(user.userId);
          const search = request.query('search');
          if (search !== undefined && search.length > MAX_SEARCH)
            throw new InvalidRequestError(`search: expected at most ${MAX_SEARCH} characters, got ${search.length}`);
          const sessions = request.sessions(user.appName);
          return Response.json(await searchSessions(sessions, user, { search, cursor: request.query('cursor') }));
        },
      },
      {
        method: 'get',
        path: '/studio-api/apps/{appName}/users/{userId}/sessions/{sessionId}/initial-state',
        operationId: 'getInitialState',
        summary: 'The own state of the session before its first event',
        response: { schema: { type: 'object' } },
        handle: async (request: ProtocolRequest) => {
          const [appName, userId] = [request.param('appName'), request.param('userId')];
          request.requireSameUser(userId);
          const key = { appName, userId, sessionId: request.param('sessionId') };
          return Response.json(await initialStateOf(request.sessions(appName), key));
        },
      },
      {
        method: 'get',
        path: '/studio-api/apps/{appName}/users/{userId}/runs',
        operationId: 'listOpenRunsOfUser',
        summary: 'The runs of a user in all sessions that have not ended: in flight, or left behind by a lost process',
        response: { schema: OPEN_RUNS_SCHEMA },
        handle: async (request: ProtocolRequest) => {
          const user = { appName: request.param('appName'), userId: request.param('userId') };
          request.requireSameUser(user.userId);
          return Response.json(await listOpenRuns(request.sessions(user.appName), user));
        },
      },
      {
        method: 'get',
        path: '/studio-api/apps/{appName}/users/{userId}/waiting-runs',
        operationId: 'listWaitingRunsOfUser',
        summary: 'The runs of a user that wait for an answer to a call among the newest 200 events of their session',
        query: {
          cursor: 'The `nextCursor` of the previous page of 50 sessions. A page may be empty although more follow.',
        },
        response: { schema: WAITING_RUNS_SCHEMA },
        handle: async (request: ProtocolRequest) => {
          const user = { appName: request.param('appName'), userId: request.param('userId') };
          request.requireSameUser(user.userId);
          return Response.json(await listWaitingRuns(request, user, request.query('cursor')));
        },
      },
    ],
  };
}

/** @throws SessionNotFoundError */
async function initialStateOf(service: BaseSessionService, key: SessionKey): Promise<object> {
  for await (const record of service.exportSession(key)) if (record.type === 'session') return record.initialState;
  return {};
}

/** Maximum length of a search text, in characters. */
const MAX_SEARCH = 200;

/**
 * Returns a redirect to a relative address, which is also correct behind a path prefix because the paths of the two routes that use it have
 * only one slash.
 */
function redirect({ url }: Request, address: string): Response {
  return new Response(null, { status: 302, headers: { location: address + new URL(url).search } });
}

async function serveFile(path: string, files: StudioFiles, request: Request): Promise<Response> {
  const [, extension = ''] = /\.([a-z]+)$/.exec(path) ?? [];
  const type = TYPES[extension];
  const body = type === undefined || path.includes('..') ? undefined : await files(path);
  if (body === undefined)
    return Response.json({ error: `Studio has no file ${JSON.stringify(path)}`, code: 'NOT_FOUND' }, { status: 404 });
  // Names of assets change with their content, so they may be cached for ever.
  const caching = path.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
  return new Response(body, {
    headers: { ...securityHeaders(request), 'content-type': type ?? '', 'cache-control': caching },
  });
}

/**
 * Reads the files of the page from a binding of static assets of a Worker. In its configuration `directory` is the folder `dist/page` of
 * this package, and `html_handling` is `none`.
 * @throws ConfigurationError without the binding, for example in a Worker that was started with another configuration
 *
 * @example
 * import { assetFiles, type AssetBinding, studio } from '@eventloom/studio';
 *
 * // The `protocols` of createCloudflareServer.
 * const protocols = (env: { ASSETS: AssetBinding }) => [studio({ files: assetFiles(env.ASSETS) })];
 */
export function assetFiles(binding: AssetBinding): StudioFiles {
  // The types of an environment include the binding, but the configuration may lack it.
  if (typeof binding?.fetch !== 'function')
    throw new ConfigurationError(
      'assetFiles: the Worker has no such binding; write "assets": { "binding": "ASSETS", … } in the configuration that wrangler reads',
    );
  return async (path) => {
    const response = await binding.fetch(`https://assets.local/${path}`);
    return response.ok ? (response.body ?? undefined) : undefined;
  };
}
