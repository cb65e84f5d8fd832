import { InvalidRequestError } from '@eventloom/core';
import { ForbiddenError } from '../errors.ts';
import type { ServerOptions } from '../server-options.ts';
import { shownAddress } from './request-body.ts';

/** Origins and hosts from which a server can be called. */
export interface RequestGuardOptions {
  /** True answers only requests whose host is a loopback name: `localhost`, `127.0.0.1`, `[::1]`. */
  readonly isLoopbackOnly: boolean;
  readonly origins: readonly string[];
}

/** Returns the guard for the options of a server. One that authenticates, or need not, answers under every host name. */
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
 * site without naming the origin (images, frames, links), and requests with a host name that an attacker made resolve to this server
 * (DNS rebinding). Also refuses a path that cannot be decoded, and one with `.` or `..` segments. A `Request` has mostly resolved those, so
 * servers that forward requests check the target themselves if they can (see `./node`).
 *
 * @throws ForbiddenError @throws InvalidRequestError
 */
export function guardRequest(request: Request, { isLoopbackOnly, origins }: RequestGuardOptions): void {
  const url = new URL(request.url);
  if (isLoopbackOnly && !LOOPBACK.test(url.hostname)) {
    throw new ForbiddenError(
      `this server answers requests to localhost only, not to ${shownAddress(url.hostname)}; ` +
        'to be reached under another name it needs an authenticate hook, or allowUnauthenticated ' +
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
      'this server refuses requests from pages of other sites; the request has Sec-Fetch-Site: cross-site and no Origin',
    );
  }
  checkRequestTarget(request.url);
  try {
    // The result is used, because bundlers remove a call without a used result, and with it its exception.
    if (decodeURIComponent(url.pathname) !== '') return;
  } catch (cause) {
    throw new InvalidRequestError('path: contains a percent sign that does not encode text', { cause });
  }
}

/** True for the server's own origin, with the scheme of any proxy in front of it, and for the listed origins. */
export function isAllowedOrigin(origin: string, host: string, origins: readonly string[]): boolean {
  if (origins.includes('*') || origins.includes(origin)) return true;
  return URL.canParse(origin) && new URL(origin).host === host;
}

/** Characters that a URL parser removes. */
const DROPPED = /[\t\n\r]/g;
/** Finds a segment `.` or `..`, encoded or not. Web addresses count a backslash as a slash. */
const DOT_SEGMENT = /(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i;

/**
 * Refuses a request target with a `.` or `..` segment, encoded or not. A parser would resolve it, and the request would
 * reach another address than the one that a proxy or a log saw.
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
