// Parts of the server that other Eventloom packages build on. Not for users: names here change without notice.

export type { FrontContext } from '../server-context.ts';
export { createServerOn } from '../create-server-on.ts';
export { addRoutes } from '../http/add-routes.ts';
export type { Call } from '../http/call.ts';
export { checkAppName } from '../http/check-app-name.ts';
export { confine } from '../http/confine.ts';
export { createReporter, errorResponse } from '../http/error-response.ts';
export { identify, isUser } from '../http/identify.ts';
export { readRunBody } from '../http/read-run-body.ts';
export type { RequestGuardOptions } from '../http/request-guard.ts';
export { guardOf, guardRequest } from '../http/request-guard.ts';
export type { Route } from '../http/route.ts';
export { isLiveRequest, liveProtocolOf, refuseLive } from '../live/admit-live.ts';
export { parseLiveQuery } from '../live/live-query.ts';
export { liveRoutes } from '../routes/live-routes.ts';
export { openApiRoute } from '../routes/open-api-route.ts';
export { serverRoutes } from '../routes/server-routes.ts';
export { userRoutes } from '../routes/user-routes.ts';
export { RunBuffer } from '../runs/run-buffer.ts';
export type { NumberedEvent } from '../runs/run-relay.ts';
export { limitsOver } from '../server-limits.ts';
export { checkServerOptions } from '../server-options.ts';
export { VERSION } from '../version.ts';
