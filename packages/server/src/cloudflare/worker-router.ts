import { EventloomError, systemPlatform } from '@eventloom/core';
import { DurableObjectArtifactService } from '@eventloom/artifacts/durable-object';
import { DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { Hono } from 'hono/tiny';
import { createServerOn, type EventloomServer } from '../create-server-on.ts';
import { RateLimitedError } from '../errors/rate-limited-error.ts';
import { checkId } from '../http/check-id.ts';
import { errorResponse } from '../http/error-response.ts';
import { readBytes } from '../http/read-json-body.ts';
import { guardRequest } from '../http/request-guard.ts';
import type { Route } from '../http/route.ts';
import { artifactRoutes } from '../routes/artifact-routes.ts';
import { graphRoutes } from '../routes/graph-routes.ts';
import { historyRoutes } from '../routes/history-routes.ts';
import { runBufferRoutes } from '../routes/run-buffer-routes.ts';
import { runRoutes } from '../routes/run-routes.ts';
import { sessionRoutes } from '../routes/session-routes.ts';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import type { AuthenticatedUser, ServerOptions } from '../server-options.ts';
import type { CloudflareBindings } from './cloudflare-bindings.ts';
import type { CloudflareServerOptions } from './cloudflare-server-options.ts';
import { forwardedHeaders } from './forwarded-user.ts';
import { noStorage } from './no-storage.ts';

/** Whom a request is about. */
interface Owner {
  readonly appName: string;
  readonly userId: string;
}

/**
 * Hands each request on to the object of the user it names. What names none, and what is wrong with a request, is answered here, by
 * a server over the same apps that has no sessions: so both answer alike. Keeps nothing between requests.
 */
export class WorkerRouter<Env extends CloudflareBindings> {
  readonly #env: Env;
  readonly #options: CloudflareServerOptions<Env>;
  readonly #authenticate: ServerOptions['authenticate'];
  readonly #appNames: ReadonlySet<string>;
  readonly #front: EventloomServer;
  readonly #app = new Hono();

  /** @throws ConfigurationError for what cannot work */
  constructor(env: Env, options: CloudflareServerOptions<Env>) {
    this.#env = env;
    this.#options = options;
    this.#authenticate = options.authenticate?.(env);
    const { runners: createRunners, authenticate: _authenticate, ...shared } = options;
    const runners = createRunners(env, {
      sessionService: new DurableObjectSessionService({ storage: noStorage }),
      artifactService: new DurableObjectArtifactService({ storage: noStorage }),
      platform: systemPlatform,
    });
    this.#appNames = new Set(runners.map(({ appName }) => appName));
    this.#front = createServerOn(new Hono(), {
      ...shared,
      // The runs are those of the objects.
      limits: { ...shared.limits, unfinishedRunsEveryMs: 0 },
      runners,
      authenticate: this.#authenticate,
    });
    for (const route of [...sessionRoutes, ...historyRoutes, ...artifactRoutes, ...runBufferRoutes, ...graphRoutes]) {
      this.#app.on(route.method, pathOf(route), ({ req }) =>
        this.#handOn(req.raw, { appName: req.param('appName') ?? '', userId: req.param('userId') ?? '' }),
      );
    }
    for (const route of runRoutes) this.#app.on(route.method, pathOf(route), ({ req }) => this.#handOnRun(req.raw));
    this.#app.all('*', ({ req }) => this.#front.fetch(req.raw));
  }

  fetch(request: Request): Response | Promise<Response> {
    return this.#app.fetch(request);
  }

  async #handOn(request: Request, owner: Owner): Promise<Response> {
    const user = await this.#admit(request);
    if (user === 'refused' || !this.#isOwner(owner, user)) return this.#front.fetch(request);
    return (await this.#refusal(request, user)) ?? this.#send(request, owner, user);
  }

  /** The body names the user: it is read to its end, as far as the limit allows. */
  async #handOnRun(request: Request): Promise<Response> {
    const user = await this.#admit(request);
    if (user === 'refused') return this.#front.fetch(request);
    const limited = await this.#refusal(request, user);
    if (limited) return limited;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = await readBytes(request, this.#options.limits?.maxBodyBytes ?? DEFAULT_LIMITS.maxBodyBytes);
    } catch (error) {
      return errorResponse(error);
    }
    const whole = new Request(request.url, { method: request.method, headers: request.headers, body: bytes });
    const owner = ownerIn(bytes);
    return owner && this.#isOwner(owner, user) ? this.#send(whole, owner, user) : this.#front.fetch(whole);
  }

  /** Who the request comes from, once it is allowed to ask anything; the server in front answers one that is refused. */
  async #admit(request: Request): Promise<AuthenticatedUser | undefined | 'refused'> {
    const { allowUnauthenticated = false, origins = [] } = this.#options;
    try {
      guardRequest(request, { isLoopbackOnly: !this.#authenticate && !allowUnauthenticated, origins });
      if (!this.#authenticate) return undefined;
      const user = await this.#authenticate(request);
      return typeof user?.userId === 'string' ? user : 'refused';
    } catch {
      return 'refused';
    }
  }

  /** False for what no object should be made for. */
  #isOwner({ appName, userId }: Owner, user: AuthenticatedUser | undefined): boolean {
    if (!this.#appNames.has(appName) || (user && user.userId !== userId)) return false;
    try {
      checkId('userId', userId);
      return new TextEncoder().encode(userId).length <= 256;
    } catch (error) {
      if (EventloomError.isInstance(error)) return false;
      throw error;
    }
  }

  async #refusal(request: Request, user: AuthenticatedUser | undefined): Promise<Response | undefined> {
    const limit = this.#env.EVENTLOOM_RATE_LIMIT;
    if (!limit) return undefined;
    const key = user ? `user:${user.userId}` : `address:${request.headers.get('cf-connecting-ip') ?? ''}`;
    const { success } = await limit.limit({ key });
    return success ? undefined : errorResponse(new RateLimitedError('more requests than the rate limit allows; wait'));
  }

  #send(request: Request, { appName, userId }: Owner, user: AuthenticatedUser | undefined): Promise<Response> {
    const object = this.#env.EVENTLOOM_USERS.getByName(JSON.stringify([appName, userId]));
    return object.fetch(new Request(request, { headers: forwardedHeaders(request.headers, { appName, user }) }));
  }
}

function pathOf({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/** Undefined when the body does not say: what is wrong with it is for a server to tell. */
function ownerIn(bytes: Uint8Array): Owner | undefined {
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof body !== 'object' || body === null) return undefined;
    const { appName, app_name, userId, user_id } = body as Record<string, unknown>;
    const owner = { appName: appName ?? app_name, userId: userId ?? user_id };
    return typeof owner.appName === 'string' && typeof owner.userId === 'string'
      ? { appName: owner.appName, userId: owner.userId }
      : undefined;
  } catch {
    return undefined;
  }
}
