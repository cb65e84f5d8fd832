import { ConfigurationError } from '@eventloom/core';
import { getPath } from 'hono/utils/url';

/** The form of a base path, such as `/agents` or `/api/agents`. */
const BASE_PATH = /^(?:\/[\w.~-]+)+$/;

export function isBasePath(path: unknown): path is string {
  if (typeof path !== 'string' || !BASE_PATH.test(path)) return false;
  return !path.split('/').some((segment) => segment === '.' || segment === '..');
}

/**
 * Checks that no route begins with the base path: of a request for such a route nobody could tell whether a framework has removed the base
 * path.
 * @throws ConfigurationError
 */
export function checkBasePath(basePath: string, routes: readonly { readonly path: string }[]): void {
  const taken = routes.find(({ path }) => basePath !== '' && `${path}/`.startsWith(`${basePath}/`));
  if (taken)
    throw new ConfigurationError(
      `basePath: ${JSON.stringify(basePath)} is also the beginning of the route ${taken.path}; write another one, such as '/agents'`,
    );
}

/** Returns a path without the base path. A framework may have removed it already: then the path is returned as it is. */
export function pathBelow(basePath: string, path: string): string {
  if (path === basePath) return '/';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
}

/** Returns options of a router that matches the paths of requests below the base path. */
export function routerBelow(basePath = ''): { getPath?: (request: Request) => string } {
  return basePath === '' ? {} : { getPath: (request) => pathBelow(basePath, getPath(request)) };
}
