import type { BaseSessionService, GetSessionRequest, MaybePromise, Session } from '@eventloom/core';

/** A session for the sake of its events: its state is read only where that costs little. Undefined when it does not exist. */
export function readWithoutState(
  service: BaseSessionService,
  request: GetSessionRequest,
): MaybePromise<Session | undefined> {
  return service.getWithoutState?.(request) ?? service.getSession(request);
}
