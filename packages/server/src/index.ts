// The HTTP server over runners. Web standards only; `./node` listens on a port.

export type { EventloomServer } from './create-server.ts';
export { createServer } from './create-server.ts';
export { checkId } from './http/check-id.ts';
export type { AuthenticatedUser, ServerOptions } from './server-options.ts';
export type { OnUnfinishedRuns } from './runs/unfinished-runs.ts';
export type { LiveAdmission, LiveSocket, LiveSocketEvents } from './live/live-socket.ts';
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

export { AppNotFoundError } from './errors/app-not-found-error.ts';
export { AppStateUnreachableError } from './errors/app-state-unreachable-error.ts';
export { ArtifactNotFoundError } from './errors/artifact-not-found-error.ts';
export { BodyTooLargeError } from './errors/body-too-large-error.ts';
export { ForbiddenError } from './errors/forbidden-error.ts';
export { MethodNotAllowedError } from './errors/method-not-allowed-error.ts';
export { RateLimitedError } from './errors/rate-limited-error.ts';
export { RouteNotFoundError } from './errors/route-not-found-error.ts';
export { RunEventsGoneError } from './errors/run-events-gone-error.ts';
export { RunGoesOnError } from './errors/run-goes-on-error.ts';
export { RunHostLostError } from './errors/run-host-lost-error.ts';
export { RunNotFoundError } from './errors/run-not-found-error.ts';
export { RunRelayError } from './errors/run-relay-error.ts';
export { ServerBusyError } from './errors/server-busy-error.ts';
export { ShuttingDownError } from '@eventloom/core';
export { SlowReaderError } from './errors/slow-reader-error.ts';
export { TooManyReadersError } from './errors/too-many-readers-error.ts';
export { UnauthenticatedError } from './errors/unauthenticated-error.ts';
export { UpgradeRequiredError } from './errors/upgrade-required-error.ts';
export { UserObjectError } from './errors/user-object-error.ts';
