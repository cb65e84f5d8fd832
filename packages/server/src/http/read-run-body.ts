import { InvalidRequestError } from '@eventloom/core';
import { readRunRequest, type RunRequest } from '@eventloom/core/wire';
import type { FrontContext } from '../server-context.ts';
import type { Call } from './call.ts';
import { checkId } from './check-id.ts';

/**
 * What a run is asked to do, of an app that there is and by the user who may ask for it.
 * @throws InvalidRequestError @throws BodyTooLargeError @throws ForbiddenError @throws AppNotFoundError
 */
export async function readRunBody<Server extends FrontContext>(call: Call<Server>): Promise<RunRequest> {
  const json = await call.json();
  if (json === undefined) throw new InvalidRequestError('body: is missing');
  const body = readRunRequest(call.counted(json));
  if (body.newMessage === undefined && body.invocationId === undefined)
    throw new InvalidRequestError(
      'newMessage: is missing; a run that is resumed can do without, and is named by invocationId',
    );
  checkId('userId', body.userId);
  checkId('sessionId', body.sessionId);
  call.confine(body.userId);
  call.confineState('stateDelta', Object.keys(body.stateDelta ?? {}));
  call.appName(body.appName);
  return body;
}
