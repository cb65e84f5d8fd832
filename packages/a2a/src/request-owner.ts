import { InvalidRequestError } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { checkId, type CommonRequest, type RunOwner } from '@eventloom/server';
import { parseTaskId } from './task-view.ts';

/** Returns the user of a request: the authenticated one, or the user of the request's context. */
export async function ownerOf(request: CommonRequest): Promise<RunOwner> {
  const appName = request.param('appName');
  if (request.user) return { appName, userId: request.user.userId };
  // A body that is not JSON is refused with a parse error, for which no owner is needed.
  const { json } = await readBody(request);
  const userId = userOf(json);
  try {
    checkId('contextId', userId);
    return { appName, userId };
  } catch {
    // The handler refuses the request with an error of JSON-RPC.
    return { appName, userId: CONTEXT_USER };
  }
}

/** Prefix of the user id of a context on a server without `authenticate`, as in the ADK. */
export const CONTEXT_USER = 'A2A_USER_';

/** Returns the user of the context that a request names. */
export function userOf(json: unknown): string {
  return CONTEXT_USER + contextOf(isRecord(json) && isRecord(json['params']) ? json['params'] : {});
}

/** Reads the body of a request. @returns the error of a body that is not JSON. @throws what `request.bytes` throws */
export async function readBody(request: CommonRequest): Promise<{ readonly json?: unknown; readonly fault?: string }> {
  try {
    return { json: await request.json() };
  } catch (error) {
    if (InvalidRequestError.isInstance(error)) return { fault: error.message };
    throw error;
  }
}

/**
 * Returns the context id of a request. That of a message without one is the id of the message, so that a Worker and the object that it
 * forwards to agree on it, and that a message which is sent again finds its session.
 */
function contextOf(params: Readonly<Record<string, unknown>>): string {
  const { message, id, taskId, contextId } = params;
  const named = isRecord(message)
    ? [message['taskId'], message['contextId'], message['messageId']]
    : [id ?? taskId, contextId];
  const [task, ...others] = named;
  const session = typeof task === 'string' ? parseTaskId(task)?.sessionId : undefined;
  const found = [session, ...others].find((each) => typeof each === 'string' && each !== '');
  return typeof found === 'string' ? found : '';
}
