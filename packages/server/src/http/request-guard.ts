import { ConfigurationError, InvalidRequestError, type Platform } from '@eventloom/core';
import { isRecord, within } from '@eventloom/core/internal';
import { ForbiddenError, UnauthenticatedError } from '../errors.ts';
import type { AuthenticatedUser, ServerOptions } from '../server-options.ts';
import { shownAddress } from './request-body.ts';

/** Authenticates a request, or throws to refuse it. Undefined: the request is anonymous. */
export type Identify = (request: Request) => Promise<AuthenticatedUser | undefined>;

/** Requests that the program itself makes, with the user that each acts for. They are not authenticated. */
export type Callers = WeakMap<Request, AuthenticatedUser>;

/**
 * Notes the user that a request of the program acts for, and returns the request.
 * @throws ConfigurationError for anything other than a user and a request
 */
export function asCaller(callers: Callers, user: AuthenticatedUser, request: Request): Request {
  if (!isRecord(user) || typeof user['userId'] !== 'string' || user['userId'] === '' || !(request instanceof Request))
    throw new ConfigurationError(
      "fetchAs: expected a user and a Request; write fetchAs({ userId: 'ada' }, new Request('http://localhost/list-apps'))",
    );
  callers.set(request, user);
  return request;
}

/** Origins and hosts from which a server can be called. */
export interface RequestGuardOptions {
  /** True answers only requests whose host is a loopback name: `localhost`, `127.0.0.1`, `[::1]`. */
  readonly isLoopbackOnly: boolean;
  readonly origins: readonly string[];
}

/** Returns the guard for the options of a server. A server with `authenticate` or `allowUnauthenticated` answers under every host name. */
export function guardOf({
  authenticate,
  allowUnauthenticated = false,
  origins = [],
}: Pick<ServerOptions, 'authenticate' | 'allowUnauthenticated' | 'origins'>): RequestGuardOptions {
  return { isLoopbackOnly: !authenticate && !allowUnauthenticated, origins };
}

const LOOPBACK = /^(localhost|[^.]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Refuses requests that a web page of another site could send: requests from a foreign origin, requests that a browser sends from another
 * site without naming the origin (images, frames, links), and requests with a host name that an attacker made resolve to this server (DNS
 * rebinding). Also refuses a path that cannot be decoded, or has `.` or `..` segments. A `Request` has usually resolved such segments
 * already, so servers that see the unparsed target check it themselves (see `./node`).
 *
 * @throws ForbiddenError
 * @throws InvalidRequestError
 */
export function guardRequest(request: Request, { isLoopbackOnly, origins }: RequestGuardOptions): void {
  const url = new URL(request.url);
  if (isLoopbackOnly && !LOOPBACK.test(url.hostname)) {
    throw new ForbiddenError(
      `this server answers requests to localhost only, not to ${shownAddress(url.hostname)}; ` +
        'to allow other names, give it an authenticate hook, or allowUnauthenticated ' +
        '(start: --allow-unauthenticated and another --host)',
    );
  }
  const origin = request.headers.get('origin');
  if (origin !== null && !isAllowedOrigin(origin, url.host, origins)) {
    throw new ForbiddenError(
      `this server refuses requests from pages of the origin ${shownAddress(origin)}; add it to origins (--origin) to allow it`,
    );
  }
  if (origin === null && request.headers.get('sec-fetch-site') === 'cross-site' && !origins.includes('*')) {
    throw new ForbiddenError(
      'this server refuses requests from pages of other sites; the request has Sec-Fetch-Site: cross-site and no Origin; ' +
        'send it with fetch in the mode cors, and add the origin of the page to origins (--origin)',
    );
  }
  checkRequestTarget(request.url);
  try {
    // Bundlers remove a call whose result is not used, and its exception with it.
    if (decodeURIComponent(url.pathname) !== '') return;
  } catch (cause) {
    throw new InvalidRequestError(
      'path: contains a percent sign that does not encode text; write %25 for a percent sign',
      { cause },
    );
  }
}

/** True for the listed origins and the server's own origin; its scheme may be that of a proxy in front of the server. */
export function isAllowedOrigin(origin: string, host: string, origins: readonly string[]): boolean {
  if (origins.includes('*') || origins.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

/** Characters that a URL parser removes. */
const DROPPED = /[\t\n\r]/g;
/** Finds a segment `.` or `..`, encoded or not. Web addresses count a backslash as a slash. */
const DOT_SEGMENT = /(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i;

/**
 * Refuses a request target with a `.` or `..` segment, encoded or not. A parser would resolve the segment, and the request would reach
 * another address than a proxy or a log has seen.
 *
 * @param target the unparsed target: a path or a whole address
 * @throws InvalidRequestError
 */
export function checkRequestTarget(target: string): void {
  const [path = ''] = target
    .replaceAll(DROPPED, '')
    .replace(/^[a-z][a-z\d+.-]*:\/\/[^/\\?#]*/i, '')
    .split(/[?#]/, 1);
  if (DOT_SEGMENT.test(path)) {
    throw new InvalidRequestError('path: has a segment "." or "..", which the server does not resolve; remove it');
  }
}

/** Maximum time that a request waits for `authenticate`, in milliseconds. */
const AUTHENTICATE_MS = 10_000;

/**
 * Returns a function that authenticates a request with the `authenticate` hook of a server; undefined without a hook. The function throws
 * UnauthenticatedError if the hook returns no user, and ConfigurationError if it returns anything other than a user, or nothing within ten
 * seconds.
 */
export function identifierOf(
  { authenticate }: Pick<ServerOptions, 'authenticate'>,
  timers: Pick<Platform, 'schedule'>,
): Identify | undefined {
  if (!authenticate) return undefined;
  const late = (): never => {
    throw new ConfigurationError(
      `authenticate: did not settle within ${AUTHENTICATE_MS} ms, so the request was refused; give what it waits for a time limit`,
    );
  };
  return async (request) => {
    // A hook in JavaScript may return anything; values other than a user refuse the request.
    const returned = authenticate(request);
    const user =
      isRecord(returned) && 'then' in returned
        ? await within(timers, Promise.resolve(returned), AUTHENTICATE_MS, late)
        : await returned;
    if (user === undefined || user === null) throw new UnauthenticatedError('the request has no valid credentials');
    if (typeof user.userId === 'string' && user.userId !== '') return user;
    throw new ConfigurationError(
      "authenticate: expected the result { userId } with a non-empty string, or undefined; write return { userId: 'ada' }",
    );
  };
}

/** @throws ForbiddenError if an authenticated request names another user */
export function requireSameUser(user: AuthenticatedUser | undefined, userId: string): void {
  if (user && user.userId !== userId) {
    throw new ForbiddenError(`the request is from user ${JSON.stringify(user.userId)} but names another user`);
  }
}
