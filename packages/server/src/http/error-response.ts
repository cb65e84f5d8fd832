import { EventloomError } from '@eventloom/core';
import { RateLimitedError } from '../errors.ts';
import { errorBody } from './error-body.ts';
import { errorStatus } from './error-status.ts';

/** How long a client is asked to wait before it tries again what may succeed later, in seconds. */
const RETRY_AFTER_S = 1;
/** The longest period that a rate limit of Cloudflare can have: which one it has is not said. */
const RATE_LIMITED_RETRY_AFTER_S = 60;

/** The answer to a request that failed: `{error, code}` with the status of its code. */
export function errorResponse(error: unknown, extraHeaders: Readonly<Record<string, string>> = {}): Response {
  const body = errorBody(error);
  const headers: Record<string, string> = { 'content-type': 'application/json', ...extraHeaders };
  if (EventloomError.isInstance(error) && error.retryable) {
    headers['retry-after'] = String(RateLimitedError.isInstance(error) ? RATE_LIMITED_RETRY_AFTER_S : RETRY_AFTER_S);
  }
  return new Response(JSON.stringify(body), { status: errorStatus(body.code), headers });
}
