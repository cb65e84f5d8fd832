// The HTTP server over runners. Web standards only; `./node` listens on a port.

export type { EventloomServer, LiveGate } from './create-server.ts';
export { createServer } from './create-server.ts';
export { checkId } from './http/check-names.ts';
export type { AuthenticatedUser, ServerOptions } from './server-options.ts';
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
  RelayedRun,
  RelayHost,
  RemoteRun,
  RemoteRunFollower,
  RunEnd,
  RunEventLog,
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
  RunHostLostError,
  RunNotFoundError,
  RunRelayError,
  ServerBusyError,
  SlowReaderError,
  TooManyReadersError,
  UnauthenticatedError,
  UpgradeRequiredError,
} from './errors.ts';
export { ShuttingDownError } from '@eventloom/core';
