import { ConfigurationError, systemPlatform } from '@eventloom/core';
import { checkOptions, wrongOption } from '@eventloom/core/internal';
import {
  type AuthenticatedUser,
  DEFAULT_LIMITS,
  type LiveEndpoint,
  RateLimitedError,
  type RunOwner,
  type ServerLimits,
  type ServerOptions,
} from '@eventloom/server';
import {
  type ServerRequest,
  checkAppName,
  checkServerOptions,
  commonRoutes,
  createSmallRouter,
  requireOwner,
  requireSameUser,
  type Callers,
  type FrontContext,
  checkBasePath,
  isBasePath,
  OPEN_API_PATH,
  guardOf,
  guardRequest,
  identifierOf,
  isLiveRequest,
  mergeLimits,
  liveProtocolOf,
  openApiRoute,
  type RequestGuardOptions,
  type HttpRoute,
  serverRoutes,
  UserQuotas,
  userRoutes,
  VERSION,
} from '@eventloom/server/internal';
import { openPair } from './accept-live.ts';
import type { CloudflareBindings } from './cloudflare-bindings.ts';
import { CLOUDFLARE_SERVER_OPTIONS, type CloudflareServerOptions } from './cloudflare-server-options.ts';
import { UserObjectError } from './errors.ts';
import { forwardedHeaders } from './forwarded.ts';

type FrontRequest = ServerRequest<FrontContext>;

/** An isolate has 128 MB of memory for all requests that it handles at the same time. Lower than the defaults of a server process. */
const ISOLATE_LIMITS: ServerLimits = {
  ...DEFAULT_LIMITS,
  maxBodyBytesInFlight: 32 * 1024 * 1024,
  maxBodyBytesInFlightPerUser: 20 * 1024 * 1024,
};

/**
 * Checks requests as `createServer` does and forwards each to the object of the user it names. A refused request reaches no object;
 * routes that name no user are answered here. Keeps no state between requests.
 */
export class WorkerRouter<Env extends CloudflareBindings> {
  readonly #env: Env;
  readonly #authenticate: ServerOptions['authenticate'];
  readonly #guard: RequestGuardOptions;
  readonly #front: FrontContext;
  readonly #report: (error: unknown) => void;
  readonly #live: LiveEndpoint | undefined;
  readonly #route: (request: Request) => Response | Promise<Response>;
  /** The users of requests that the Worker itself makes: see `CloudflareServer.fetchAs`. */
  readonly callers: Callers = new WeakMap();

  /**
   * @param report called with every error. Invalid options are reported at once, and every request is then refused with that error.
   */
  constructor(env: Env, options: CloudflareServerOptions<Env>, report: (error: unknown) => void) {
    const {
      appNames,
      runners: _runners,
      authenticate,
      protocols: listed,
      runConfig: _runConfig,
      webhooks,
      ...given
    } = options;
    this.#env = env;
    this.#report = report;
    const refuse = (): never => {
      throw fault;
    };
    let fault: unknown;
    let names: readonly string[] = [];
    let shared: typeof given & { readonly protocols?: ServerOptions['protocols'] } = {};
    let ofUsers = userRoutes();
    try {
      checkOptions('createCloudflareServer', CLOUDFLARE_SERVER_OPTIONS, options);
      if (options.appNames === undefined)
        throw wrongOption('createCloudflareServer', 'appNames', 'a list of names', undefined, "['weather']");
      this.#authenticate = authenticate?.(env);
      const own = { ...given, protocols: typeof listed === 'function' ? listed(env) : listed };
      checkServerOptions(
        { ...own, authenticate: this.#authenticate, webhooks: webhooks?.(env), runners: [] },
        'createCloudflareServer',
      );
      const ownRoutes = [...serverRoutes, ...userRoutes(own.protocols), ...commonRoutes(own.protocols)];
      checkBasePath(own.basePath ?? '', [...ownRoutes, ...(own.live?.routes ?? []), { path: OPEN_API_PATH }]);
      ofUsers = userRoutes(own.protocols);
      names = appNames;
      shared = own;
    } catch (error) {
      report(error);
      fault = error;
      // The error is the answer at the addresses of the server, not a 404.
      if (isBasePath(given.basePath)) shared = { basePath: given.basePath };
      this.#authenticate = refuse;
    }
    this.#live = shared.live;
    const limits = mergeLimits(ISOLATE_LIMITS, shared.limits);
    this.#guard = guardOf({ ...shared, authenticate: this.#authenticate });
    this.#front = {
      runners: new Set(names),
      basePath: shared.basePath ?? '',
      runs: {
        get isDraining() {
          return fault !== undefined && refuse();
        },
      },
      limits,
      quotas: new UserQuotas(limits),
      platform: systemPlatform,
      report,
      version: { version: VERSION, language: 'typescript', ...shared.version },
    };
    const routes: HttpRoute<FrontContext>[] = [
      ...serverRoutes.map((route) => this.#describeApps(route, names)),
      ...ofUsers.map((route) => ({ ...route, handle: (request: FrontRequest) => this.#forward(route, request) })),
      ...commonRoutes(shared.protocols),
      ...(shared.live?.routes ?? []),
    ];
    this.#route = createSmallRouter([...routes, openApiRoute(routes, VERSION, this.#front)], {
      ...shared,
      authenticate: this.#authenticate,
      server: this.#front,
      identify: (request) => this.#identify(request),
      // With invalid options the error answers every request, also those of the Worker itself.
      callers: fault === undefined ? this.callers : new WeakMap(),
      report,
    });
  }

  fetch(request: Request): Response | Promise<Response> {
    const live = this.#live;
    return live && isLiveRequest(request, { path: live.path, basePath: this.#front.basePath })
      ? this.#forwardLive(request, live)
      : this.#route(request);
  }

  /** Forwards a live run to the user's object. A refusal is sent over a WebSocket that this Worker opens. */
  async #forwardLive(request: Request, live: LiveEndpoint): Promise<Response> {
    try {
      guardRequest(request, this.#guard);
      const user = await this.#identify(request);
      const key = live.sessionKeyOf(request);
      requireSameUser(user, key.userId);
      return await this.#send({ ...key, appName: checkAppName(this.#front, key.appName) }, request, user);
    } catch (error) {
      this.#report(error);
      return openPair({ protocol: liveProtocolOf(request, live), open: (socket) => live.refuse(error, socket) });
    }
  }

  /**
   * Authenticates, then applies the rate limit: by user id, or by address for unauthenticated requests.
   * @throws RateLimitedError and the errors of `identifierOf`
   */
  async #identify(request: Request): Promise<AuthenticatedUser | undefined> {
    const address = `address:${request.headers.get('cf-connecting-ip') ?? ''}`;
    let user: AuthenticatedUser | undefined;
    try {
      user = await identifierOf({ authenticate: this.#authenticate }, systemPlatform)?.(request);
    } catch (error) {
      await this.#limit(address);
      throw error;
    }
    await this.#limit(user ? `user:${user.userId}` : address);
    return user;
  }

  /** Allows the request if the rate limiter fails, because the limiter protects against costs and is not an access control. */
  async #limit(key: string): Promise<void> {
    let isAllowed = true;
    try {
      isAllowed = (await this.#env.EVENTLOOM_RATE_LIMIT?.limit({ key }))?.success ?? true;
    } catch (error) {
      this.#report(error);
    }
    if (!isAllowed) throw new RateLimitedError('the rate limit of this server is exceeded; try again in a minute');
  }

  /**
   * Lets an object answer `/list-apps?detailed=true`, because only objects create runners and know their agents. It is the object of no
   * user, since a user id is never empty.
   */
  #describeApps(route: HttpRoute<FrontContext>, [appName]: readonly string[]): HttpRoute<FrontContext> {
    if (route.operationId !== 'listApps' || appName === undefined) return route;
    const handle = (request: FrontRequest) =>
      request.query('detailed') === 'true'
        ? this.#send({ appName, userId: '' }, request.raw, request.user)
        : route.handle(request);
    return { ...route, handle };
  }

  async #forward(route: HttpRoute, request: FrontRequest): Promise<Response> {
    const owner = await requireOwner(route, request);
    return this.#send(owner, request.raw, request.user, request.raw.body ? await request.bytes() : undefined);
  }

  /** Takes the body as bytes, already read: a body over the limit is refused before the object receives a request. */
  async #send(
    { appName, userId }: RunOwner,
    { url, method, headers }: Request,
    user: AuthenticatedUser | undefined,
    body?: Uint8Array<ArrayBuffer>,
  ): Promise<Response> {
    const users = (this.#env as Partial<CloudflareBindings>).EVENTLOOM_USERS;
    if (!users)
      throw new ConfigurationError(
        'createCloudflareServer: the binding EVENTLOOM_USERS is missing; write { "name": "EVENTLOOM_USERS", "class_name": "UserObject" } in durable_objects.bindings of wrangler.jsonc',
      );
    const object = users.getByName(JSON.stringify([appName, userId]));
    const forwarded = forwardedHeaders(headers, { appName, user });
    try {
      return await object.fetch(new Request(url, { method, headers: forwarded, body: body ?? null }));
    } catch (cause) {
      const isOverloaded = cause instanceof Error && 'overloaded' in cause && cause.overloaded === true;
      throw new UserObjectError(
        'the object of the user did not answer; the request may have been processed: check before sending it again',
        // POST and PATCH are not idempotent.
        { cause, retryable: !isOverloaded && method !== 'POST' && method !== 'PATCH' },
      );
    }
  }
}
