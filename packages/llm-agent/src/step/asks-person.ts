import type { EventActions } from '@eventloom/core';

/** True when a person is asked something before a call goes on. */
export function asksPerson({ requestedAuthConfigs, requestedToolConfirmations }: EventActions): boolean {
  return requestedAuthConfigs !== undefined || requestedToolConfirmations !== undefined;
}
