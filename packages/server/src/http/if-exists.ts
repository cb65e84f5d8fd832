import { EventloomError } from '@eventloom/core';
import type { ServerRequest } from './server-request.ts';

/** The description of the query parameter `ifExists`. */
export const IF_EXISTS =
  '`true` answers 204 instead of 404 for what does not exist. A browser writes each 404 to its console, also one that its page expects.';

/** The description of the response 204 of a route about a session. */
export const NO_SESSION = 'With `ifExists=true`: the session does not exist';

/** Answers a request; with `ifExists=true`, an error with this code is answered with 204. */
export async function respondIfExists(
  request: ServerRequest,
  code: 'SESSION_NOT_FOUND' | 'RUN_NOT_FOUND',
  respond: () => Promise<Response>,
): Promise<Response> {
  if (request.query('ifExists') !== 'true') return respond();
  try {
    return await respond();
  } catch (error) {
    if (EventloomError.isInstance(error) && error.code === code) return new Response(null, { status: 204 });
    throw error;
  }
}
