// The HTTP server over runners. Web standards only; `./node` listens on a port.

export type { EventloomServer, LiveGate } from './create-server.ts';
export { createServer } from './create-server.ts';
export { checkId } from './http/check-names.ts';
export type { RunConfigHook, RunPolicy } from './http/run-policy.ts';
export type { AuthenticatedUser, ServerOptions } from './server-options.ts';
export type { FollowRunRequest, HostedRun, RunItem, RunWriter } from './http/hosted-run.ts';
export type { QuerySpec } from './http/route.ts';
export type {
  CommonCall,
  CommonRoute,
  Protocol,
  ProtocolCall,
  ProtocolRoute,
  ProtocolRouteSpec,
  RunOwner,
} from './protocol.ts';
export type { WebhookOptions } from './runs/webhooks.ts';
export type { OnUnfinishedRuns } from './runs/unfinished-runs.ts';
export type {
  LiveAdmission,
  LiveEndpoint,
  LiveHost,
  LiveServer,
  LiveSocket,
  LiveSocketEvents,
} from './live-endpoint.ts';
export type { ServerLimits } from './server-limits.ts';
export { DEFAULT_LIMITS } from './server-limits.ts';
export type {
  LogMirror,
  RelayedLog,
  RelayHost,
  RemoteRun,
  RunEnd,
  RunFrame,
  RunPublication,
  RunRelay,
  RunStop,
} from './runs/run-relay.ts';

export {
  AppNotFoundError,
  ArtifactNotFoundError,
  BodyTooLargeError,
  ForbiddenError,
  MethodNotAllowedError,
  RateLimitedError,
  RouteNotFoundError,
  RunEventsGoneError,
  RunGoesOnError,
  RunNotFoundError,
  RunRelayError,
  ServerBusyError,
  SlowReaderError,
  TooManyReadersError,
  UnauthenticatedError,
  UpgradeRequiredError,
  UserLimitError,
  WebhookError,
} from './errors.ts';
export { ShuttingDownError } from '@eventloom/core';
