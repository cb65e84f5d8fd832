/** The HTTP status of every error code. The one place where the two meet; a code that is not here is the server's own fault: 500. */
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
  RUN_NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  RUN_ABORTED: 409,
  SESSION_ALREADY_EXISTS: 409,
  SESSION_BUSY: 409,
  STALE_WRITER: 409,
  RUN_EVENTS_GONE: 410,
  RUN_HOST_LOST: 410,
  BODY_TOO_LARGE: 413,
  SIZE_LIMIT: 413,
  MISSING_STATE_KEY: 422,
  RATE_LIMITED: 429,
  SLOW_READER: 429,
  TOO_MANY_READERS: 429,
  AGENT: 500,
  CONFIGURATION: 500,
  LLM_CALL_LIMIT: 500,
  MODEL: 502,
  OUTPUT_SCHEMA: 502,
  APP_STATE_UNREACHABLE: 503,
  MEMORY_BUSY: 503,
  RUN_RELAY: 503,
  SERVER_BUSY: 503,
  SHUTTING_DOWN: 503,
};

/** The status that an error with this code is answered with. */
export function errorStatus(code: string): number {
  return Object.hasOwn(STATUS, code) ? (STATUS[code] ?? 500) : 500;
}
