import { jsonTextResponse } from '../http/responses.ts';
import type { CountLimits } from '../http/check-counts.ts';
import type { Route, RouteSpec } from '../http/route.ts';
import type { FrontContext } from '../server-context.ts';
import { openApiDocument } from '../openapi/open-api-document.ts';

/** The address of the OpenAPI document of these routes and itself. Written when it is first asked for. */
export function openApiRoute(routes: readonly RouteSpec[], version: string, limits: CountLimits): Route<FrontContext> {
  let text: string | undefined;
  const route: Route<FrontContext> = {
    method: 'get',
    path: '/openapi.json',
    operationId: 'openApi',
    summary: 'This document',
    answer: { schema: { type: 'object' } },
    handle: () => jsonTextResponse((text ??= JSON.stringify(openApiDocument([...routes, route], version, limits)))),
  };
  return route;
}
