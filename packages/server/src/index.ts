// The HTTP server for runners. Needs only web standards; `./node` listens on a port.

// Servers
export type { EventloomServer, LiveGate } from './create-server.ts';
export { createServer } from './create-server.ts';
export type { AppContext, AppHandler, AppRequest, ServerApp } from './server-app.ts';

// Protocols
export { checkId } from './http/request-body.ts';

// Run policy
export type { RunConfigHook, RunPolicy } from './http/run-policy.ts';

// Servers
export type { AuthenticatedUser, ServerOptions } from './server-options.ts';

// Protocols
export type { FollowRunRequest, HostedRun, RunItem, RunWriter } from './http/hosted-run.ts';
export type { QuerySpec } from './http/route.ts';
export type { RunState } from './runs/run-state.ts';
export type {
  CommonRequest,
  CommonRoute,
  Protocol,
  ProtocolRequest,
  ProtocolRoute,
  ProtocolRouteSpec,
  RunOwner,
} from './protocol.ts';

// Servers
export type { WebhookOptions } from './runs/webhook-options.ts';
export type { OnUnfinishedRuns } from './runs/unfinished-runs.ts';

// Live runs
export type {
  LiveAdmission,
  LiveEndpoint,
  LiveHost,
  LiveServer,
  LiveSocket,
  LiveSocketEvents,
} from './live-endpoint.ts';

// Servers
export type { ServerLimits } from './server-limits.ts';
export { DEFAULT_LIMITS } from './server-limits.ts';

// Several processes
export type {
  LogMirror,
  RelayedLog,
  RelayHost,
  RemoteRun,
  RelayEnd,
  RunFrame,
  RunPublication,
  RunRelay,
  RunStop,
} from './runs/run-relay.ts';

// Errors
export {
  AppNotFoundError,
  ArtifactNotFoundError,
  BodyTooLargeError,
  ForbiddenError,
  MethodNotAllowedError,
  RateLimitedError,
  RouteNotFoundError,
  RunEventNotFoundError,
  RunEventsGoneError,
  RunGoesOnError,
  RunNotBegunError,
  RunNotFoundError,
  RunRelayError,
  ServerBusyError,
  SlowReaderError,
  TooManyReadersError,
  UnauthenticatedError,
  UnreadResponsesError,
  UpgradeRequiredError,
  UserLimitError,
  WebhookError,
} from './errors.ts';
export { ShuttingDownError } from '@eventloom/core';
