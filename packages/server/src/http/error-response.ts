import { EventloomError, type Platform, ShuttingDownError } from '@eventloom/core';
import { errorCodeOf, reportTo } from '@eventloom/core/internal';
import type { ErrorBody } from '@eventloom/core/wire';
import { RateLimitedError, RunNotBegunError, ServerBusyError, UserLimitError } from '../errors.ts';
import { visibleText } from './request-body.ts';

/** `Retry-After` of a retryable error, in seconds. */
const RETRY_AFTER_S = 1;
/** Maximum period of a rate limit on Cloudflare, in seconds. The limit does not report its own period. */
const RATE_LIMITED_RETRY_AFTER_S = 60;

/** Returns the response to a failed request: `{error, code}` with the status of the code. @param more further fields of the body */
export function errorResponse(
  error: unknown,
  extraHeaders: Readonly<Record<string, string>> = {},
  more: Pick<ErrorBody, 'run'> = {},
): Response {
  const body: ErrorBody = { ...errorBody(error), ...more };
  const headers: Record<string, string> = { 'content-type': 'application/json', ...extraHeaders };
  if (EventloomError.isInstance(error) && error.retryable) {
    const afterS = UserLimitError.isInstance(error) ? error.retryAfterS : undefined;
    headers['retry-after'] = String(
      RateLimitedError.isInstance(error) ? RATE_LIMITED_RETRY_AFTER_S : (afterS ?? RETRY_AFTER_S),
    );
  }
  // The status follows from the class of the error: `body.code` may be a code of the model API.
  const status = errorStatus(EventloomError.isInstance(error) ? error.code : body.code);
  return new Response(JSON.stringify(body), { status, headers });
}

/** The HTTP status of each error code. Codes that are not listed have 500. */
const STATUS: Readonly<Record<string, number>> = {
  INVALID_REQUEST: 400,
  INVALID_MESSAGE: 400,
  INVALID_EVENT: 400,
  INVALID_ARTIFACT_NAME: 400,
  STATE_KEY: 400,
  STATE_VALUE: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  APP_NOT_FOUND: 404,
  ARTIFACT_NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  RUN_EVENT_NOT_FOUND: 404,
  RUN_NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_KNOWN: 409,
  RUN_ABANDONED: 409,
  RUN_ABORTED: 409,
  RUN_GOES_ON: 409,
  RUN_OPEN: 409,
  SESSION_ALREADY_EXISTS: 409,
  SESSION_BUSY: 409,
  STALE_WRITER: 409,
  UNREAD_RESPONSES: 409,
  RUN_EVENTS_GONE: 410,
  BODY_TOO_LARGE: 413,
  SIZE_LIMIT: 413,
  MISSING_STATE_KEY: 422,
  REQUEST_ID_REUSED: 422,
  UPGRADE_REQUIRED: 426,
  LIVE_QUEUE_FULL: 429,
  RATE_LIMITED: 429,
  SLOW_READER: 429,
  TOO_MANY_READERS: 429,
  USER_LIMIT: 429,
  LIVE_CONNECTION: 502,
  MODEL: 502,
  MODEL_ERROR: 502,
  OUTPUT_SCHEMA: 502,
  WEBHOOK: 502,
  APP_STATE_UNREACHABLE: 503,
  RUN_NOT_BEGUN: 503,
  RUN_RELAY: 503,
  SERVER_BUSY: 503,
  SHUTTING_DOWN: 503,
  STORAGE_UNAVAILABLE: 503,
  TOOLSET_UNAVAILABLE: 503,
  USER_OBJECT: 503,
  RUN_TIMEOUT: 504,
  TOOL_TIMEOUT: 504,
};

/** Returns the HTTP status of a response to an error with this code. */
export function errorStatus(code: string): number {
  return Object.hasOwn(STATUS, code) ? (STATUS[code] ?? 500) : 500;
}

/** Errors that ask a client to try again although nothing has failed. */
const EXPECTED = [ShuttingDownError, RunNotBegunError];
/** The minimum time between two reports of a full server: all requests that it refuses fail in the same way. */
const BUSY_REPORT_EVERY_MS = 60_000;

/**
 * Creates a function that reports each unexpected failure of the server once, although a run's failure is also that of its request.
 * Refusals of a full server (SERVER_BUSY) are reported once a minute. The function never throws: an error of `onError` goes to the
 * platform, together with the error that `onError` was called with.
 */
export function createReporter(
  platform: Platform,
  onError: (error: unknown) => unknown = (error) => console.error(error),
): (error: unknown) => void {
  const reported = new WeakSet<object>();
  let busyReportMs = -Infinity;
  const notify = async (error: unknown): Promise<void> => {
    try {
      await onError(error);
    } catch (thrown) {
      reportTo(platform, error);
      throw thrown;
    }
  };
  return (error) => {
    const isExpected = EXPECTED.some((type) => type.isInstance(error));
    if (isExpected || (EventloomError.isInstance(error) && errorStatus(error.code) < 500)) return;
    if (ServerBusyError.isInstance(error)) {
      if (platform.now() < busyReportMs + BUSY_REPORT_EVERY_MS) return;
      busyReportMs = platform.now();
    }
    if (typeof error === 'object' && error !== null) {
      if (reported.has(error)) return;
      reported.add(error);
    }
    platform.background(notify(error));
  };
}

/** Maximum length of an error message, in characters: runs store their failure in a row of a table. */
const MAX_MESSAGE_CHARS = 64 * 1024;
/** Maximum length of the message of a refused request, in characters: it may quote keys and ids of the request. */
const MAX_REFUSAL_CHARS = 1000;

/**
 * Returns the error for the client. The message of an unexpected error says only that an error happened, and in which agent or node. A very
 * long message is truncated; that of a refused request has no invisible characters.
 */
export function errorBody(error: unknown): ErrorBody {
  if (!EventloomError.isInstance(error))
    return { error: 'the server failed to answer; its log says why', code: 'INTERNAL' };
  const { publicMessage } = error;
  const isRefusal = errorStatus(error.code) < 500;
  return {
    error: isRefusal ? visibleText(publicMessage, MAX_REFUSAL_CHARS) : publicMessage.slice(0, MAX_MESSAGE_CHARS),
    code: errorCodeOf(error),
  };
}

/** The close code and the reason of a WebSocket. */
export interface SocketClose {
  readonly code: number;
  readonly reason: string;
}

/** Close codes for certain errors. The first is the ADK's code. */
const CODES: Readonly<Record<string, number>> = {
  SESSION_NOT_FOUND: 1002,
  BODY_TOO_LARGE: 1009,
  SHUTTING_DOWN: 1012,
  SERVER_BUSY: 1013,
  SESSION_BUSY: 1013,
  RATE_LIMITED: 1013,
  USER_LIMIT: 1013,
  STORAGE_UNAVAILABLE: 1013,
};

/** Maximum length of a close reason, in bytes of UTF-8. (RFC 6455, 5.5.) */
const MAX_REASON_BYTES = 123;

/**
 * Returns the close code and reason for a live run that an error ended. 1002: no such session; 1008: the client is refused or broke a
 * rule; 1009: a frame is too large; 1011: the server or the model failed; 1012: the server restarts; 1013: try again later.
 */
export function socketCloseOf(error: unknown): SocketClose {
  const { error: message, code } = errorBody(error);
  const closeCode = Object.hasOwn(CODES, code) ? CODES[code] : undefined;
  return { code: closeCode ?? (errorStatus(code) < 500 ? 1008 : 1011), reason: cut(`${code}: ${message}`) };
}

function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_REASON_BYTES));
  return text.slice(0, read);
}
