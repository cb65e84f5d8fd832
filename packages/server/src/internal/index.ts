// Parts of the server for other Eventloom packages. Not for applications: names here change without notice.

export type { FrontContext } from '../server-context.ts';
export { createSmallRouter, createSmallServer } from '../small-router.ts';
export { checkBasePath, isBasePath } from '../http/base-path.ts';
export type { ServerRequest } from '../http/server-request.ts';
export type { CountLimits } from '../http/request-body.ts';
export { checkCounts, parseJson, quotedName } from '../http/request-body.ts';
export { checkAppName, runnerOf } from '../http/start-run.ts';
export { callRunConfigHook } from '../http/run-policy.ts';
export { UserQuotas } from '../http/user-quotas.ts';
export type { SocketClose } from '../http/error-response.ts';
export { createReporter, errorBody, errorResponse, socketCloseOf } from '../http/error-response.ts';
export type { Callers, RequestGuardOptions } from '../http/request-guard.ts';
export { asCaller, guardOf, guardRequest, identifierOf, requireSameUser } from '../http/request-guard.ts';
export type { HttpRoute } from '../http/route.ts';
export { SESSION_DELETED } from '../runs/failed-run.ts';
export { GRACE_MS } from '../runs/run-hub.ts';
export { runPath } from '../http/responses.ts';
export { findTakenRun, readEnd } from '../runs/stored-frames.ts';
export { isLiveRequest, liveProtocolOf } from '../live-endpoint.ts';
export { OPEN_API_PATH, openApiRoute } from '../openapi/open-api-document.ts';
export { serverRoutes } from '../routes/server-routes.ts';
export { commonRoutes, requireOwner, userRoutes } from '../routes/user-routes.ts';
export { boundsOf, mergeLimits } from '../server-limits.ts';
export { checkServerOptions } from '../server-options.ts';
export { VERSION } from '../version.ts';
