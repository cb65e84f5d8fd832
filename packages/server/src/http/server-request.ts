import {
  type BaseAgent,
  type BaseArtifactService,
  type BaseSessionService,
  ConfigurationError,
  InvalidRequestError,
  type SessionKey,
} from '@eventloom/core';
import { stateScopeOf } from '@eventloom/core/internal';
import type { RunBody } from '@eventloom/core/wire';
import type { Runner } from '@eventloom/runner';
import { ForbiddenError } from '../errors.ts';
import { parsePosition } from '../runs/run-log.ts';
import type { RunState } from '../runs/run-state.ts';
import type { AppRequest } from '../server-app.ts';
import type { FrontContext, ServerContext } from '../server-context.ts';
import type { AuthenticatedUser } from '../server-options.ts';
import { pathBelow } from './base-path.ts';
import { CHARS_PER_SLICE, inSlices } from './in-slices.ts';
import { checkCounts, checkId, parseEventsJson, parseJson, quotedName, readBytes } from './request-body.ts';
import { requireSameUser } from './request-guard.ts';
import { checkInvocationId, type FollowRunRequest, HostedRun } from './hosted-run.ts';
import type { BodySpec } from './route.ts';
import { checkAppName, parseRunBody, readRequestedRun, runnerOf, startReadableRun } from './start-run.ts';
import { RequestQuota } from './user-quotas.ts';

type RoutedRequest = Pick<AppRequest, 'raw' | 'param' | 'queries'>;

/** A request to a route. Its methods check the values that they return. */
export class ServerRequest<Server extends FrontContext = ServerContext> {
  readonly server: Server;
  /** The web request. Only `bytes`, `json` and `body` of this class read its body. */
  readonly raw: Request;
  readonly #context: { readonly req: RoutedRequest };
  /** The authenticated user; undefined without `authenticate`, and on a public route. */
  readonly user: AuthenticatedUser | undefined;
  /** Counts bodies and runs of the request for its user: the authenticated one, otherwise the one in the path or in the body of a run. */
  readonly quota: RequestQuota;
  #bytes: Promise<Uint8Array<ArrayBuffer>> | undefined;

  /** @param isOfProgram true for a request of the program itself, which may be made inside of another one: it waits for no place */
  constructor(
    server: Server,
    context: { readonly req: RoutedRequest },
    user: AuthenticatedUser | undefined,
    isOfProgram: boolean,
  ) {
    this.server = server;
    this.raw = context.req.raw;
    this.#context = context;
    this.user = user;
    this.quota = new RequestQuota(
      server.quotas,
      user?.userId ?? context.req.param('userId'),
      isOfProgram ? undefined : this.raw,
    );
  }

  /** The path of the address at which the client sees the route, with the base path of the server. */
  get path(): string {
    const { basePath } = this.server;
    return basePath + pathBelow(basePath, new URL(this.raw.url).pathname);
  }

  /** Returns a parameter of the path, decoded. */
  param(name: string): string {
    return this.#context.req.param(name) ?? '';
  }

  /** Returns a query parameter; undefined if the request has none of this name. @throws InvalidRequestError when it is given twice */
  query(name: string): string | undefined {
    const [value, second] = this.#context.req.queries(name) ?? [];
    if (second !== undefined) throw new InvalidRequestError(`${name}: is given more than once; write one value`);
    return value;
  }

  /** Returns a query parameter that must be a number of at least 0; undefined if it is absent. @throws InvalidRequestError */
  queryNumber(name: string): number | undefined {
    const text = this.query(name);
    if (text === undefined) return undefined;
    if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
    throw new InvalidRequestError(`${name}: expected a number of at least 0, got ${quotedName(text)}`);
  }

  /** Returns a query parameter that must be an integer of at least 0; undefined if it is absent. @throws InvalidRequestError */
  queryInteger(name: string): number | undefined {
    const text = this.query(name);
    return text === undefined ? undefined : parseCount(name, text);
  }

  /** Returns the body, unchanged. @throws BodyTooLargeError @throws InvalidRequestError @throws UserLimitError @throws ServerBusyError */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const { quotas, platform } = this.server;
    if (!this.#bytes && this.quota.holds === 0)
      throw new ConfigurationError('bytes: the request was answered; read its body before the answer ends');
    return (this.#bytes ??= readBytes(this.raw, quotas.maxBodyBytes, this.quota, platform));
  }

  /**
   * Returns the parsed JSON of the body, which is not validated; undefined if there is no body.
   * @param hasEvents true for a body that may have the events of a new session: it is parsed in steps, with other work in between. Default
   * false
   * @throws BodyTooLargeError
   * @throws InvalidRequestError
   */
  async json(hasEvents = false): Promise<unknown> {
    const bytes = await this.bytes();
    const isLarge = bytes.length > CHARS_PER_SLICE;
    // Many large bodies that arrive together would hold all other requests of the process.
    if (isLarge) await this.server.largeTexts?.next();
    let text: string;
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (cause) {
      throw new InvalidRequestError('body: is not UTF-8 text; send the JSON in UTF-8', { cause });
    }
    if (text.trim() === '') return undefined;
    const { limits, platform } = this.server;
    const value = hasEvents ? await inSlices(platform, parseEventsJson(text, limits)) : parseJson('body', text, limits);
    // To store the value takes longer than to parse it.
    if (isLarge) await this.server.largeTexts?.next();
    return value;
  }

  /**
   * Returns the body, checked and parsed by `spec`.
   * @throws BodyTooLargeError
   * @throws InvalidRequestError that names the fault and its path
   */
  async body<T>(spec: BodySpec<T>): Promise<T> {
    return spec.read(this.counted(await this.json()));
  }

  /** Checks the number of values in JSON against the limits, and returns it. @throws BodyTooLargeError */
  counted(json: unknown): unknown {
    checkCounts(json, this.server.limits);
    return json;
  }

  /** Returns the runner of an app. Default: the app in the path. @throws AppNotFoundError */
  runner(this: ServerRequest, appName: string = this.param('appName')): Runner {
    return runnerOf(this.server, appName);
  }

  /** Returns the name of an existing app. Default: the app in the path. @throws AppNotFoundError */
  appName(appName: string = this.param('appName')): string {
    return checkAppName(this.server, appName);
  }

  /** Returns the user in the path. @throws InvalidRequestError @throws ForbiddenError */
  userId(): string {
    const userId = this.param('userId');
    checkId('userId', userId);
    this.requireSameUser(userId);
    return userId;
  }

  /** Returns the key of the session in the path. @throws InvalidRequestError @throws AppNotFoundError @throws ForbiddenError */
  sessionKey(): SessionKey {
    const userId = this.userId();
    const sessionId = this.param('sessionId');
    checkId('sessionId', sessionId);
    return { appName: this.appName(), userId, sessionId };
  }

  get limits(): Server['limits'] {
    return this.server.limits;
  }

  /** See `ProtocolRequest.startRun`. */
  async startRun(this: ServerRequest, request: RunBody): Promise<HostedRun> {
    const body = parseRunBody(this, request);
    const requested = await startReadableRun(this, body);
    const { run, known, failure } = requested;
    if (failure) throw failure;
    return new HostedRun((known ?? run.log).invocationId, (format) => {
      // The first reader takes the reserved connection, unless the request has been answered without one.
      if (this.quota.used.reservedReaders > 0) this.quota.count('reservedReaders', -1);
      else this.server.runs.readers.checkUser(body.userId);
      return readRequestedRun(this, requested, format);
    });
  }

  /** See `ProtocolRequest.followRun`. */
  followRun(this: ServerRequest, { lastEventId, ...request }: FollowRunRequest): HostedRun {
    const { key, invocationId } = this.#runOf(request);
    const position = lastEventId === undefined || lastEventId === '' ? 0 : parsePosition('lastEventId', lastEventId);
    const service = this.sessions(key.appName);
    return new HostedRun(invocationId, (format) =>
      this.server.runs.follower.follow({ service, key, id: invocationId, position, format }),
    );
  }

  /** See `ProtocolRequest.cancelRun`. */
  async cancelRun(this: ServerRequest, request: FollowRunRequest): Promise<boolean> {
    const { key, invocationId } = this.#runOf(request);
    return this.server.runs.canceller.cancel(this.runner(key.appName), key, invocationId);
  }

  /** See `ProtocolRequest.runState`. */
  async runState(this: ServerRequest, request: FollowRunRequest): Promise<RunState> {
    const { key, invocationId } = this.#runOf(request);
    return this.server.runs.follower.state(this.sessions(key.appName), key, invocationId);
  }

  #runOf({ appName, userId, sessionId, invocationId }: FollowRunRequest): { key: SessionKey; invocationId: string } {
    checkId('userId', userId);
    checkId('sessionId', sessionId);
    this.requireSameUser(userId);
    this.appName(appName);
    return { key: { appName, userId, sessionId }, invocationId: checkInvocationId(invocationId) };
  }

  /** See `ProtocolRequest.agent`. */
  agent(this: ServerRequest, appName: string): BaseAgent {
    return this.runner(appName).agent;
  }

  /** See `ProtocolRequest.sessions`. */
  sessions(this: ServerRequest, appName: string): BaseSessionService {
    return this.runner(appName).sessionService;
  }

  /** See `ProtocolRequest.artifacts`. */
  artifacts(this: ServerRequest, appName: string): BaseArtifactService | undefined {
    return this.runner(appName).artifactService;
  }

  /** @throws ForbiddenError if the request comes from another user */
  requireSameUser(userId: string): void {
    requireSameUser(this.user, userId);
  }

  /** @throws ForbiddenError for a key that all users of the app share if the request's user may not write such keys */
  checkStateAccess(field: string, keys: Iterable<string>): void {
    if (!this.user || this.user.mayWriteAppState === true) return;
    for (const key of keys) {
      if (stateScopeOf(key) !== 'app') continue;
      throw new ForbiddenError(
        `${field}: the key ${quotedName(key)} is shared by all users of the app, and user ` +
          `${JSON.stringify(this.user.userId)} may not write it; the authenticate hook can allow this with mayWriteAppState: true`,
      );
    }
  }
}

/** Parses an integer of at least 0. @throws InvalidRequestError */
export function parseCount(name: string, text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new InvalidRequestError(`${name}: expected an integer of at least 0, got ${quotedName(text)}`);
}
