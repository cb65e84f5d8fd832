import { EventloomError, type EventloomErrorOptions } from '@eventloom/core';

export { RunNotFoundError } from '@eventloom/core';

// Requests

/** The server has no route at this path. */
export class RouteNotFoundError extends EventloomError {
  static override readonly code = 'ROUTE_NOT_FOUND';
}

/** The path exists, but does not accept this method. */
export class MethodNotAllowedError extends EventloomError {
  static override readonly code = 'METHOD_NOT_ALLOWED';
}

/** The path accepts only WebSockets, and the request does not ask for an upgrade. */
export class UpgradeRequiredError extends EventloomError {
  static override readonly code = 'UPGRADE_REQUIRED';
}

/** The body of a request has more bytes or entries than the server accepts. Nothing was changed. */
export class BodyTooLargeError extends EventloomError {
  static override readonly code = 'BODY_TOO_LARGE';
}

/** The request has no credentials, or invalid ones. */
export class UnauthenticatedError extends EventloomError {
  static override readonly code = 'UNAUTHENTICATED';
}

/** The request names another user than the authenticated one, or comes from an origin that is not allowed. */
export class ForbiddenError extends EventloomError {
  static override readonly code = 'FORBIDDEN';
}

/** The user (or the address, for requests that name no user) sent more requests than the rate limit allows. Retryable. */
export class RateLimitedError extends EventloomError {
  static override readonly code = 'RATE_LIMITED';
  static override readonly retryable = true;
}

/** All attempts to send the webhook of a run failed. Reported to `onError`, never sent as a response. */
export class WebhookError extends EventloomError {
  static override readonly code = 'WEBHOOK';
}

/**
 * The user has reached a limit of concurrent work: active runs, requests that wait for a session or for their turn, bytes of bodies,
 * connections that read runs, or live runs. Nothing was changed. Retryable.
 */
export class UserLimitError extends EventloomError {
  static override readonly code = 'USER_LIMIT';
  static override readonly retryable = true;
  /** Seconds after which the request may succeed, for the header `Retry-After`. Default 1. */
  readonly retryAfterS: number | undefined;

  constructor(message: string, options: EventloomErrorOptions & { readonly retryAfterS?: number } = {}) {
    super(message, options);
    this.retryAfterS = options.retryAfterS;
  }
}

/** The server has no app with this name. */
export class AppNotFoundError extends EventloomError {
  static override readonly code = 'APP_NOT_FOUND';
}

/** The session has no artifact with this name, or not this version of it. */
export class ArtifactNotFoundError extends EventloomError {
  static override readonly code = 'ARTIFACT_NOT_FOUND';
}

// Runs

/** The server has reached its maximum of runs, waiting requests or bytes of bodies. Nothing was changed. Retryable. */
export class ServerBusyError extends EventloomError {
  static override readonly code = 'SERVER_BUSY';
  static override readonly retryable = true;
}

/** The run has no event with the requested number, which is higher than that of its newest event. */
export class RunEventNotFoundError extends EventloomError {
  static override readonly code = 'RUN_EVENT_NOT_FOUND';
}

/** The chunks after the requested number are no longer kept, and no stored event replaces them yet. */
export class RunEventsGoneError extends EventloomError {
  static override readonly code = 'RUN_EVENTS_GONE';
}

/**
 * The stream ended, but the run continues in another process, or in the next one that finds it, according to its `onUnfinishedRuns`. Not
 * retryable, because its message is stored: follow the run at its address.
 */
export class RunGoesOnError extends EventloomError {
  static override readonly code = 'RUN_GOES_ON';
}

/**
 * A run is recorded, but its message is not stored, so it has nothing to follow: its process is about to store it, or
 * could not store it and the record is about to expire. Retryable: follow the run again.
 */
export class RunNotBegunError extends EventloomError {
  static override readonly code = 'RUN_NOT_BEGUN';
  static override readonly retryable = true;
}

/** A run of another process cannot be found or followed through this process at the moment. The run itself is not affected. Retryable. */
export class RunRelayError extends EventloomError {
  static override readonly code = 'RUN_RELAY';
  static override readonly retryable = true;
}

/**
 * A reader of a run was too slow for the events that are kept, and was disconnected: the run continues, and the reader
 * can reconnect. Retryable.
 */
export class SlowReaderError extends EventloomError {
  static override readonly code = 'SLOW_READER';
  static override readonly retryable = true;
}

/**
 * A change or a run was made, but its response is not sent, because the user's clients have not read others. Not
 * retryable, because the change would be made again: read the session.
 */
export class UnreadResponsesError extends EventloomError {
  static override readonly code = 'UNREAD_RESPONSES';
}

/** The run already has as many readers as the server allows. Retryable. */
export class TooManyReadersError extends EventloomError {
  static override readonly code = 'TOO_MANY_READERS';
  static override readonly retryable = true;
}
