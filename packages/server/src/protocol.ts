import { type BaseAgent, type BaseArtifactService, type BaseSessionService, ConfigurationError } from '@eventloom/core';
import { checkOptions, describeKind, isRecord, type OptionRules, wrongOption } from '@eventloom/core/internal';
import type { RunBody } from '@eventloom/core/wire';
import type { ResponseSpec, QuerySpec, RouteSpec } from './http/route.ts';
import type { FollowRunRequest, HostedRun } from './http/hosted-run.ts';
import type { RunState } from './runs/run-state.ts';
import type { ServerLimits } from './server-limits.ts';
import type { AuthenticatedUser } from './server-options.ts';

/**
 * A further API of a server: routes over its hosted runs. A protocol translates requests and events, and never runs an agent itself. Its
 * routes have the same authentication, checks of hosts and origins, quotas and drain as the ADK's routes, which every server has.
 * `/openapi.json` describes them.
 */
export interface Protocol {
  /** Name of the protocol in error messages, e.g. `ag-ui`. Unique in a server. */
  readonly name: string;
  /** Routes that act for one user. On Workers the Durable Object of that user answers them. */
  readonly routes: readonly ProtocolRoute[];
  /**
   * Routes that do not act for a user, such as an agent card or a page. On Workers the Worker answers them. They cannot start or read runs.
   */
  readonly commonRoutes?: readonly CommonRoute[] | undefined;
}

/** The address of a route and its description in `/openapi.json`. */
export interface ProtocolRouteSpec {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  /**
   * Path with parameters in braces, such as `/chats/{userId}`. The last parameter may take several segments: `/files/{path+}`. If several
   * paths match, the most specific one answers, whatever their order: words come before parameters, and one segment before several.
   */
  readonly path: string;
  /** Id of the operation in `/openapi.json`. Unique in a server. */
  readonly operationId: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, QuerySpec>> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The JSON Schema of the body, which the route itself checks. Absent if the route has no body. */
  readonly bodySchema?: object | undefined;
  /** The JSON Schema of the response, or the content type of a response that is not JSON. */
  readonly response: { readonly schema: object } | { readonly contentType: string };
  /** The meaning of a response without content (status 204), such as that of `HostedRun.sse` if there is nothing more to read. */
  readonly noContent?: string | undefined;
  /**
   * Error statuses of this route in addition to those of all routes: 400, 401, 403, 405 and 500; 404 if the path has parameters, and 503 if
   * `{userId}` is one of them; 404, 413, 429 and 503 if there is a body. Default: none.
   */
  readonly errors?: readonly number[] | undefined;
}

/** A route that acts for one user. */
export interface ProtocolRoute extends ProtocolRouteSpec {
  /**
   * Returns the user and app that a request is for. Required if the path has no `{appName}` and `{userId}`. Called before `handle`, which
   * is called only if the request comes from this user. On Workers it is also called in the Worker, to find the Durable Object that answers
   * the request.
   * @throws InvalidRequestError if the request names no user and app
   */
  owner?(request: CommonRequest): RunOwner | Promise<RunOwner>;
  handle(request: ProtocolRequest): Response | Promise<Response>;
}

/** A route that does not act for a user. */
export interface CommonRoute extends ProtocolRouteSpec {
  /** True for a route without authentication. If its path has no parameters, it is answered under every host name. Default false. */
  readonly isPublic?: boolean | undefined;
  handle(request: CommonRequest): Response | Promise<Response>;
}

/** The user and app that a request is for. */
export interface RunOwner {
  readonly appName: string;
  readonly userId: string;
}

/** The request that a route handles. An error that a route throws is answered as `{error, code}` with the status of its code. */
export interface CommonRequest {
  /** The request itself. Its body is read by `bytes` and `json`. */
  readonly raw: Request;
  /** The authenticated user; undefined without `authenticate`, and on a public route. */
  readonly user: AuthenticatedUser | undefined;
  /** Returns a parameter of the path, decoded. */
  param(name: string): string;
  /** Returns a query parameter. @throws InvalidRequestError when it is given twice */
  query(name: string): string | undefined;
  /** Returns the body. A second call returns the same bytes. @throws BodyTooLargeError @throws UserLimitError @throws ServerBusyError */
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Returns the parsed JSON of the body, which is not validated; undefined if there is no body.
   * @throws InvalidRequestError, and the errors of `bytes`
   */
  json(): Promise<unknown>;
}

/** The request that a route of a user handles: its path, query and body, and the sessions and runs of that user. */
export interface ProtocolRequest extends CommonRequest {
  readonly limits: ServerLimits;
  /**
   * Starts a run, or continues one with answers to its calls, like `POST /run`: the request is checked, must name the user of the HTTP
   * request, and counts towards that user's limits; the hook `runConfig` is called. The run continues after the HTTP request.
   * @throws InvalidRequestError
   * @throws ForbiddenError
   * @throws AppNotFoundError
   * @throws UserLimitError
   * @throws ServerBusyError
   */
  startRun(request: RunBody): Promise<HostedRun>;
  /**
   * Returns a run of the user, in progress or ended, in any process and after any restart.
   * @throws InvalidRequestError
   * @throws ForbiddenError
   * @throws AppNotFoundError
   */
  followRun(request: FollowRunRequest): HostedRun;
  /**
   * Ends a run of the user, also one that waits for answers, which takes none any more. Does nothing for a run that has ended.
   * @returns true if the run has ended; false if it was asked to end while it waits for its session, or is a live run that has not ended
   * within `limits.respondAfterMs`
   * @throws RunNotFoundError
   * @throws RunRelayError and StorageError if the run could not be ended, SessionBusyError and UnfinishedRunError if it
   * waits for answers and another run has its session, and the errors of `followRun`
   */
  cancelRun(request: FollowRunRequest): Promise<boolean>;
  /**
   * Returns the state of a run of the user, in progress or ended, in any process and after any restart.
   * @throws RunNotFoundError
   * @throws RunRelayError, and the errors of `followRun`
   */
  runState(request: FollowRunRequest): Promise<RunState>;
  /**
   * Throws unless the request may act for this user. The owner of the route is checked before `handle`; call this for further users that a
   * request names.
   * @throws ForbiddenError
   */
  requireSameUser(userId: string): void;
  /** Returns the root agent of an app, to describe it. To run it, call `startRun`. @throws AppNotFoundError */
  agent(appName: string): BaseAgent;
  /** Returns the sessions of an app, of all users. @throws AppNotFoundError */
  sessions(appName: string): BaseSessionService;
  /** Returns the artifacts of an app, of all users; undefined if the runner has no artifact service. @throws AppNotFoundError */
  artifacts(appName: string): BaseArtifactService | undefined;
}

const PATH = /^(?:\/(?:[\w.~-]+|\{\w+\}))*\/(?:[\w.~-]*|\{\w+\+?\})$/;

/**
 * Checks the protocols of a server.
 *
 * @param taken the routes that the server already has
 * @throws ConfigurationError that names the protocol and the route
 */
export function checkProtocols(
  protocols: unknown,
  taken: Iterable<Pick<RouteSpec, 'method' | 'path' | 'operationId'>>,
): void {
  if (!Array.isArray(protocols))
    throw new ConfigurationError(
      `protocols: expected a list of protocols, got ${describeKind(protocols)}; write protocols: [studio({ files })]`,
    );
  const names = new Set<string>();
  const addresses = new Set<string>();
  const ids = new Set<string>();
  for (const route of taken) {
    addresses.add(addressOf(route));
    ids.add(route.operationId);
  }
  for (const protocol of protocols as readonly Partial<Protocol>[]) {
    const { name, routes, commonRoutes = [] } = protocol ?? {};
    if (typeof name !== 'string' || name === '' || !Array.isArray(routes) || !Array.isArray(commonRoutes))
      throw new ConfigurationError(
        "protocols: expected a name and a list of routes in each protocol; write { name: 'chat', routes: [{ … }] }",
      );
    if (names.has(name))
      throw new ConfigurationError(`protocols: ${name}: two protocols have this name; choose another name`);
    names.add(name);
    checkOptions(`protocols: ${name}`, PROTOCOL, fieldsOf(protocol, PROTOCOL));
    for (const route of commonRoutes) checkRoute(name, COMMON_ROUTE, route, addresses, ids);
    for (const route of routes as readonly ProtocolRoute[]) {
      checkRoute(name, ROUTE, route, addresses, ids);
      const { path } = route;
      if (typeof route.owner === 'function' || (path.includes('{userId}') && path.includes('{appName}'))) continue;
      throw new ConfigurationError(
        `protocols: ${name}: ${path}: does not name a user; write {appName} and {userId} in the path, add owner(request) to the route, or list it in commonRoutes`,
      );
    }
  }
}

const PROTOCOL: OptionRules<Protocol> = { name: 'text', routes: 'any', commonRoutes: 'any' };
const METHODS = ['get', 'post', 'patch', 'delete'] as const;
/** The required fields of a route, with example code for each. */
const REQUIRED = {
  method: "'post'",
  path: "'/chats/{appName}/{userId}'",
  operationId: "'say'",
  summary: "'Says something to the agent'",
  response: "{ contentType: 'text/plain' }",
  handle: "(request) => new Response('…')",
};
const RESPONSE = 'the schema or the content type of the response';
const ROUTE_SPEC: OptionRules<ProtocolRouteSpec> = {
  method: { is: 'text', oneOf: METHODS },
  path: { is: 'text', write: REQUIRED.path },
  operationId: { is: 'text', write: REQUIRED.operationId },
  summary: { is: 'text', write: REQUIRED.summary },
  query: { is: 'object', write: "{ after: 'The id of the last line that came.' }" },
  headers: { is: 'object', write: "{ prefer: 'How long the client waits.' }" },
  bodySchema: { is: 'object', write: "{ type: 'object' }" },
  response: { is: 'object', wanted: RESPONSE, write: REQUIRED.response },
  noContent: 'text',
  errors: { is: 'list', wanted: 'a list of statuses', write: '[409]' },
};
const handle = { is: 'function', write: REQUIRED.handle } as const;
const ROUTE: OptionRules<ProtocolRoute> = { ...ROUTE_SPEC, owner: 'function', handle };
const COMMON_ROUTE: OptionRules<CommonRoute> = { ...ROUTE_SPEC, isPublic: 'flag', handle };
/** Advice for a field that belongs to the other list of routes. */
const HINTS = {
  isPublic: 'a route in routes acts for an authenticated user; list a route without authentication in commonRoutes',
  owner: 'a route in commonRoutes does not act for a user; list the route in routes',
};
const isStatus = (status: unknown): boolean =>
  Number.isInteger(status) && Number(status) >= 400 && Number(status) < 600;

/** Checks the fields of a route by the rules of its list. */
function checkRoute(
  name: string,
  rules: typeof ROUTE | typeof COMMON_ROUTE,
  route: ProtocolRoute | CommonRoute,
  addresses: Set<string>,
  ids: Set<string>,
): void {
  const owner = `protocols: ${name}: ${JSON.stringify(route?.path)}`;
  const where = `${owner}:`;
  if (!isRecord(route))
    throw new ConfigurationError(`protocols: ${name}: expected a route, got ${describeKind(route)}`);
  for (const [field, code] of Object.entries(REQUIRED))
    if (Reflect.get(route, field) === undefined)
      throw new ConfigurationError(`${where} ${field}: is missing; write ${field}: ${code}`);
  checkOptions(owner, rules, fieldsOf(route, { ...HINTS, ...rules }), HINTS);
  const { path, operationId, response, errors = [] } = route;
  if (!('contentType' in response ? typeof response.contentType === 'string' : isRecord(response.schema)))
    throw wrongOption(owner, 'response', RESPONSE, response, REQUIRED.response);
  for (const [index, status] of errors.entries())
    if (!isStatus(status)) throw wrongOption(owner, `errors[${index}]`, 'a status from 400 to 599', status, '[409]');
  if (ids.has(operationId))
    throw new ConfigurationError(
      `${where} operationId: the server has a route ${JSON.stringify(operationId)} already; choose another name`,
    );
  ids.add(operationId);
  if (!PATH.test(path))
    throw new ConfigurationError(
      `${where} path: expected a path that begins with a slash, got ${JSON.stringify(path)}; write path: '/chats/{userId}'`,
    );
  const address = addressOf(route);
  if (addresses.has(address))
    throw new ConfigurationError(`${where} the server has a route at ${address} already; choose another path`);
  addresses.add(address);
}

/** Returns the fields of a value that are set. An instance of a class may have further fields, so only the named ones are returned. */
function fieldsOf(value: object, named: object): object {
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value));
  const fields = Object.keys(isPlain ? value : named).map((field) => [field, Reflect.get(value, field)] as const);
  return Object.fromEntries(fields.filter(([, set]) => set !== undefined));
}

/** Returns the address of a route. Routes whose paths differ only in parameter names have the same address. */
function addressOf({ method, path }: Pick<RouteSpec, 'method' | 'path'>): string {
  return `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
}

/** Converts a route to the form from which the server builds `/openapi.json`. */
export function specOf({ bodySchema, response, ...route }: ProtocolRouteSpec, isPublic = false): RouteSpec {
  const described: ResponseSpec = response;
  const { method, path, operationId, summary, query = {}, headers = {}, noContent, errors = [] } = route;
  return {
    method,
    path,
    operationId,
    summary,
    query,
    headers,
    response: described,
    isPublic,
    errors,
    ...(noContent === undefined ? {} : { noContent }),
    ...(bodySchema ? { bodySchema } : {}),
  };
}
