import { getPath } from 'hono/utils/url';

/** The form of a base path, such as `/agents` or `/api/agents`. */
const BASE_PATH = /^(?:\/[\w.~-]+)+$/;

export function isBasePath(path: string): boolean {
  return BASE_PATH.test(path) && !path.split('/').some((segment) => segment === '.' || segment === '..');
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
